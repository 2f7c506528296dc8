#include "search/predict/tile_cost.h"

#include <algorithm>
#include <cmath>

namespace wavetune::predict {
namespace {

// Guesses for what the published tables cannot tell apart, since each shows one winner a shape: they only order
// configurations of one tile, and measuring has the last word.
//
// What the size of the instruction costs follows from the other instructions that a product needs, as inspect counts
// them on compiled loops: 16x16 tiles issue twice as many MFMAs; 32x32 tiles have scales in places that need a shift
// for each (mx), or sixteen sums to scale at once (groups).
struct MfmaEfficiency {
  NumberFormat format;
  double of_16, of_32;
};
constexpr MfmaEfficiency mfma_efficiencies[] = {
    {NumberFormat::fp8_block, 1.0, 0.7},   {NumberFormat::mxfp4, 1.0, 0.65}, {NumberFormat::fp8_mxfp4, 1.0, 0.93},
    {NumberFormat::bf16_mxfp4, 1.0, 0.95}, {NumberFormat::mxfp8, 1.0, 0.65},
};
double mfma_size_efficiency(NumberFormat format, double mfma) {
  for (const MfmaEfficiency& each : mfma_efficiencies) {
    if (each.format == format) return mfma == 16 ? each.of_16 : each.of_32;
  }
  return mfma == 16 ? 0.97 : 1.0;
}
constexpr double via_registers_efficiency = 0.95;  // loads to registers and stores to LDS share the issue slots
constexpr double vector_efficiency = 0.7;
constexpr double plain_weights = 1.15;    // rows read in pieces shorter than a 128-byte line fetch some lines twice
constexpr double scattered_store = 1.25;  // 32-byte pieces of rows instead of whole lines
// Of a good loop's issue cycles, by isa::model_issue: what hand-written kernels reach.
constexpr double reference_matrix_share = 0.95;
// Of a step's latency this much is waiting that further stages hide; the rest grows with the bytes of the step.
constexpr double hidden_by_stages = 0.6;

constexpr double reference_step_bytes = 128;
// Registers of a lane beyond the accumulators: fragments, addresses; block-scaled kernels keep scales too.
constexpr double other_registers = 96;
constexpr double other_registers_block_scaled = 128;
constexpr int most_blocks_per_cu = 4;

bool block_scaled(NumberFormat format) { return format == NumberFormat::fp8_block; }

/// Bytes of an element of A in LDS and caches, without scales.
double element_bytes(NumberFormat format) {
  switch (format) {
    case NumberFormat::f32:
      return 4;
    case NumberFormat::bf16:
    case NumberFormat::bf16_mxfp4:
      return 2;
    case NumberFormat::mxfp4:
      return 0.5;
    default:
      return 1;
  }
}

/// Blocks that registers and LDS allow on a CU; 0 when not even one fits.
int estimated_blocks(const Machine& machine, NumberFormat format, const GemmPlan& plan, double step_bytes) {
  const double waves = plan.wm * plan.wn * plan.wk;
  // Partial sums of 128 of k and their scaled total: two accumulators.
  const double accumulators = plan.bm * plan.bn / (64 * plan.wm * plan.wn) * (block_scaled(format) ? 2 : 1);
  const double guessed = accumulators + (block_scaled(format) ? other_registers_block_scaled : other_registers);
  const double registers = plan.registers > 0 ? plan.registers : guessed;
  // The vector unit scales the sums of one wave while the matrix unit works for another: at least two waves a SIMD.
  const double most = block_scaled(format) && plan.registers == 0 ? machine.vgprs / 2.0 : machine.vgprs;
  if (registers > most) return 0;
  const double by_registers = std::floor(std::floor(machine.vgprs / registers) * 4 / waves);
  if (by_registers < 1) return 0;
  double by_lds = most_blocks_per_cu;
  if (!plan.skinny) {
    const double guess = plan.stages * (plan.bm + plan.bn) * step_bytes * plan.wk;
    const double lds = plan.lds_bytes > 0 ? plan.lds_bytes : guess;
    by_lds = std::floor(machine.lds_bytes / lds);
    if (by_lds < 1) return 0;
  }
  return static_cast<int>(std::clamp<double>(std::min(by_registers, by_lds), 1, most_blocks_per_cu));
}

}  // namespace

double overlap(double p, std::initializer_list<double> parts) {
  const double most = std::max(parts);
  if (!(most > 0)) return 0;
  double sum = 0;
  for (const double part : parts) sum += std::pow(part / most, p);
  return most * std::pow(sum, 1 / p);
}

TileCost tile_cost(const Machine& machine, NumberFormat format, const FormatCalibration& kernel, const GemmPlan& plan,
                   double k) {
  const Calibration& c = calibration();
  TileCost tile;
  const double bk = plan.bk > 0 ? plan.bk : reference_step_bytes / element_bytes(format);
  const double step_bytes = bk * element_bytes(format);
  const int estimate = estimated_blocks(machine, format, plan, step_bytes);
  tile.fits = plan.blocks_per_cu > 0 || estimate > 0;
  tile.blocks_per_cu = plan.blocks_per_cu > 0 ? plan.blocks_per_cu : std::max(1, estimate);
  const double steps = std::ceil(k / bk);
  tile.k_padded = steps * bk;

  // Waves of all resident blocks feed the four SIMDs.
  const double fed = std::min(1.0, plan.wm * plan.wn * plan.wk * tile.blocks_per_cu / 4);
  const double flops = plan.vector_unit ? machine.vector_flops_per_clock : flops_per_clock(machine, format);
  double efficiency = plan.vector_unit ? vector_efficiency : kernel.mfma_efficiency;
  if (plan.matrix_share > 0) {
    // The calibrated efficiency is that of kernels whose loops keep the matrix core as busy as this.
    efficiency *= std::min(1.0, plan.matrix_share / reference_matrix_share);
  } else {
    if (!plan.vector_unit && plan.registers > 0) efficiency *= mfma_size_efficiency(format, plan.mfma);
    if (!plan.direct && !plan.skinny) efficiency *= via_registers_efficiency;
  }
  const double bytes_a = activation_bytes(format), bytes_w = weight_bytes(format);
  tile.mfma = 2 * plan.bm * plan.bn * tile.k_padded / (flops * machine.clock_mhz * efficiency * fed);
  // Every wave reads the rows of A and of W that its part of the tile needs.
  if (!plan.skinny) {
    tile.lds = (plan.bm * plan.wn * bytes_a + plan.bn * plan.wm * bytes_w) * tile.k_padded /
               (machine.lds_bytes_per_clock * machine.clock_mhz);
  }
  const bool pieces = !plan.shuffled && (plan.skinny || step_bytes < reference_step_bytes);
  tile.l2 = (plan.bm * bytes_a + plan.bn * bytes_w * (pieces ? plain_weights : 1)) * tile.k_padded /
            (machine.l2_bytes_per_clock * machine.clock_mhz);
  tile.busy = overlap(c.cu_overlap, {tile.mfma, tile.lds, tile.l2});

  // Skinny kernels have `stages` steps in flight; with LDS buffers one of them is being read.
  const double in_flight = std::max(0.5, plan.skinny ? plan.stages : plan.stages - 1);
  const double step = kernel.step_latency_us *
                      (hidden_by_stages / in_flight + (1 - hidden_by_stages) * step_bytes / reference_step_bytes);
  tile.latency = std::ceil(steps / plan.wk) * step;
  tile.epilogue = c.epilogue_us * plan.bm * plan.bn / (128 * 128) * (plan.rows_out ? 1 : scattered_store);
  return tile;
}

RoundsCost rounds_cost(const Machine& machine, const TileCost& tile, double tiles, bool ragged, bool stream_k) {
  const Calibration& c = calibration();
  RoundsCost cost;
  cost.rounds = tiles / machine.cus;
  const double blocks = tile.blocks_per_cu;
  const double per_tile = tile.busy + tile.epilogue + c.fill_us / blocks;
  const double start = tile.epilogue + c.fill_us;
  if (stream_k) {
    // Every CU gets the same share of all k steps.
    cost.compute = per_tile * (cost.rounds + c.drift * std::log1p(cost.rounds) + (ragged ? c.ragged : 0));
    cost.latency = cost.rounds / blocks * tile.latency + start;
  } else {
    const double whole = std::floor(cost.rounds + 1e-9), part = cost.rounds - whole;
    const double rounds = cost.rounds < 1 ? 1 : whole + (part > 1e-6 ? c.tail + (1 - c.tail) * part : 0);
    cost.compute = per_tile * (rounds + c.drift * std::log1p(rounds) + (ragged ? c.ragged : 0));
    cost.latency = std::ceil(std::ceil(cost.rounds - 1e-9) / blocks) * (tile.latency + start);
  }
  cost.cu = overlap(c.cu_overlap, {cost.compute, cost.latency});
  return cost;
}

}  // namespace wavetune::predict
