#include "search/predict/gemm_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "search/predict/tile_cost.h"

namespace wavetune::predict {
namespace {

/// Bytes that the L2s of all XCDs fetch: an XCD works on a rectangle of tiles at a time, whose rows of A and W it reads
/// once.
double l2_misses(const Machine& machine, const GemmShape& shape, const GemmPlan& plan, const TileCost& tile,
                 double tiles, double parts) {
  const double tiles_m = std::ceil(shape.m / plan.bm), tiles_n = std::ceil(shape.n / plan.bn);
  // At a time on one XCD, k parts of one tile counted apart.
  const double at_a_time = std::min(tiles, static_cast<double>(machine.cus) * tile.blocks_per_cu) / machine.xcds;
  const double distinct = std::max(1.0, at_a_time / parts);
  double rows = 0, cols = 0;
  if (plan.group_m <= 0) {
    rows = std::min(std::max(std::sqrt(distinct * plan.bm * plan.bn), plan.bm), tiles_m * plan.bm);
    cols = std::min(distinct * plan.bm * plan.bn / rows, tiles_n * plan.bn);
  } else {
    // Tiles are numbered down the group_m rows of a group first. Without regrouping, XCD x gets numbers x, x + 8, ...:
    // only group_m / gcd(group_m, 8) different rows.
    const auto group = static_cast<long>(std::min(plan.group_m, tiles_m));
    const long apart = plan.xcd ? 1 : std::gcd(group, static_cast<long>(machine.xcds));
    const double rows_of_group = std::max(1.0, static_cast<double>(group) / static_cast<double>(apart));
    const double tile_rows = std::min(rows_of_group, distinct);
    rows = tile_rows * plan.bm;
    cols = std::min(std::ceil(distinct / tile_rows), tiles_n) * plan.bn;
  }
  rows = std::min(rows, shape.m);
  return tiles / std::max(at_a_time, 1.0) *
         (rows * activation_bytes(shape.format) + cols * weight_bytes(shape.format)) * tile.k_padded *
         std::min(parts, std::max(1.0, at_a_time));
}

std::vector<GemmPlan> make_reference_plans() {
  std::vector<GemmPlan> plans;
  for (const double bm : {16, 32, 48, 64, 80, 96, 128, 192, 256}) {
    for (const double bn : {32, 64, 128, 192, 256}) {
      if (bm * bn < 16 * 64) continue;
      for (const double split : {1, 2, 3, 4, 6, 8, 12, 16}) {
        GemmPlan plan;
        plan.bm = bm;
        plan.bn = bn;
        plan.split_k = split;
        plans.push_back(plan);
      }
    }
  }
  return plans;
}

}  // namespace

std::string_view Prediction::bound() const {
  const double in_cu = std::max({mfma, lds, l2});
  const std::string_view of_cu = in_cu == mfma ? "mfma" : in_cu == lds ? "lds" : "l2";
  const std::pair<double, std::string_view> parts[] = {
      {compute, of_cu}, {latency, "latency"}, {hbm, "hbm"}, {infinity_cache, "infinity cache"}, {launch, "launch"}};
  return std::max_element(std::begin(parts), std::end(parts),
                          [](const auto& a, const auto& b) { return a.first < b.first; })
      ->second;
}

Prediction predict_gemm(const Machine& machine, const GemmShape& shape, const GemmPlan& plan) {
  const Calibration& c = calibration();
  const FormatCalibration& kernel = dense_calibration(shape.format);
  const bool stream_k = plan.split_k < 1;
  const double parts = std::max(1.0, plan.split_k);
  const TileCost tile = tile_cost(machine, shape.format, kernel, plan, shape.k / parts);
  Prediction result;
  // A part of k without a step does nothing.
  if (!tile.fits || (parts > 1 && tile.k_padded * (parts - 1) >= shape.k)) {
    result.us = std::numeric_limits<double>::infinity();
    return result;
  }
  const double tiles = shape.batch * std::ceil(shape.m / plan.bm) * std::ceil(shape.n / plan.bn) * parts;
  const bool ragged = std::fmod(shape.m, plan.bm) != 0 || std::fmod(shape.n, plan.bn) != 0;
  const RoundsCost rounds = rounds_cost(machine, tile, tiles, ragged, stream_k);
  const double c_elements = shape.batch * shape.m * shape.n;
  result.rounds = rounds.rounds;
  result.blocks_per_cu = tile.blocks_per_cu;
  result.launch = kernel.launch_us;
  const double on_busiest = std::max(1.0, std::ceil(rounds.rounds - 1e-9));
  result.mfma = tile.mfma * on_busiest;
  result.lds = tile.lds * on_busiest;
  result.l2 = tile.l2 * on_busiest;
  result.compute = rounds.compute;
  result.latency = rounds.latency;
  result.hbm = (shape.batch * (shape.m * shape.k * activation_bytes(shape.format) +
                               shape.n * shape.k * weight_bytes(shape.format)) +
                c_elements * 2) /
               machine.hbm_bytes_per_us;
  result.infinity_cache = l2_misses(machine, shape, plan, tile, tiles, parts) / machine.infinity_cache_bytes_per_us;
  if (stream_k) {
    const double partial_tiles = std::min<double>(tiles, static_cast<double>(machine.cus) * tile.blocks_per_cu);
    result.reduction = c.reduce_us + partial_tiles * plan.bm * plan.bn * 8 / c.reduce_bytes_per_us;
  } else if (parts > 1) {
    result.reduction = c.reduce_us + parts * c_elements * 8 / c.reduce_bytes_per_us;
  }
  result.us =
      result.launch + overlap(c.memory_overlap, {rounds.cu, result.hbm, result.infinity_cache}) + result.reduction;
  return result;
}

const std::vector<GemmPlan>& reference_plans() {
  static const std::vector<GemmPlan> plans = make_reference_plans();
  return plans;
}

BestPlan best_gemm(const Machine& machine, const GemmShape& shape) {
  BestPlan best;
  best.prediction.us = std::numeric_limits<double>::infinity();
  for (const GemmPlan& plan : reference_plans()) {
    const Prediction prediction = predict_gemm(machine, shape, plan);
    if (prediction.us < best.prediction.us) best = {plan, prediction};
  }
  return best;
}

}  // namespace wavetune::predict
