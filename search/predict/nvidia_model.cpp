#include "search/predict/nvidia_model.h"

#include <algorithm>
#include <cmath>

#include "templates/gemm/nvidia.h"
#include "templates/gemm/stream.h"

namespace wavetune::predict {
namespace {

// From an SM to memory and back, loaded.
constexpr double memory_latency_us = 0.9;
constexpr double launch_us = 2.2;
// The next kernel's start hides behind the end of this one.
constexpr double overlap_saves_us = 0.8;
constexpr double epilogue_us = 0.7;
// Of the dense peak: mma.sync reaches about three fifths of what wgmma does.
constexpr double stream_efficiency = 0.50;
constexpr double warpgroup_efficiency = 0.80;
constexpr double simds = 4;

double value(const templates::Config& config, std::string_view name, double fallback) {
  const auto at = config.find(name);
  return at == config.end() ? fallback : std::max(1.0, static_cast<double>(at->second));
}

}  // namespace

bool on_nvidia_path(const templates::Config& config) {
  return config.contains("path") && templates::is_nvidia_path(config);
}

double nvidia_gemm_us(const Machine& machine, NumberFormat format, const GemmShape& shape, double products,
                      const templates::Config& config, std::optional<int> waves_per_simd) {
  const bool wide = config.at("path") != templates::matrix_path::stream;  // instructions of warpgroups
  const double bm = value(config, "bm", 64), bn = value(config, "bn", 128), bk = value(config, "bk", 64);
  const double stages = value(config, "stages", 3), split_k = value(config, "split_k", 1);
  const double warps = value(config, "wm", 1) * value(config, "wn", 1) * value(config, "wk", 1) * (wide ? 4 : 1);
  const double x_bytes = activation_bytes(format), w_bytes = weight_bytes(format);

  const double tiles_m = std::ceil(shape.m / bm), tiles_n = std::ceil(shape.n / bn);
  const double blocks = tiles_m * tiles_n * split_k * products;
  const double stage_bytes = bk * (bm * x_bytes + bn * w_bytes);
  double resident = std::max(1.0, std::floor(machine.lds_bytes / std::max(1.0, stages * stage_bytes)));
  resident = std::min({resident, 8.0, std::max(1.0, 48 / warps)});
  if (waves_per_simd) resident = std::clamp(std::floor(*waves_per_simd * simds / warps), 1.0, resident);

  // Rounds of blocks, the last one counted whole.
  const double at_a_time = machine.cus * resident;
  const double rounds = std::max(1.0, std::ceil(blocks / at_a_time));
  const double busy_sms = std::min<double>(machine.cus, std::ceil(blocks / rounds));
  const double fullness = blocks / (rounds * std::min(at_a_time, std::ceil(blocks / rounds)));

  // Memory: weights once for a row of tiles that runs together, as many bytes in flight as buffers hold.
  const double bytes = products * (shape.n * shape.k * w_bytes + shape.m * shape.k * x_bytes + shape.m * shape.n * 2);
  const double in_flight =
      busy_sms * std::min(resident, std::ceil(blocks / machine.cus)) * std::max(1.0, stages - 1) * stage_bytes;
  const double rate = std::min(machine.hbm_bytes_per_us, in_flight / memory_latency_us);
  const double memory_us = bytes / rate / std::max(0.5, fullness);
  // The other tiles of a row or column find their operands in L2.
  const double moved = blocks / split_k * shape.k * (bm * x_bytes + bn * w_bytes);
  const double l2_us = moved / (machine.l2_bytes_per_clock * machine.clock_mhz * busy_sms);

  // Arithmetic on whole tiles.
  const double flops = 2 * products * tiles_m * bm * tiles_n * bn * shape.k;
  const double tile_fit = wide ? std::min(1.0, 0.55 + 0.45 * bn / 192) : std::min(1.0, 0.6 + 0.4 * bm * bn / 8192);
  const double peak = flops_per_clock(machine, format) * machine.clock_mhz * machine.cus;
  const double matrix_us = flops / (peak * (wide ? warpgroup_efficiency : stream_efficiency) * tile_fit) *
                           (machine.cus / busy_sms) / std::max(0.25, fullness);

  const double fill_us = memory_latency_us + stages * 0.05;
  double us = launch_us + fill_us + epilogue_us + std::max({memory_us, l2_us, matrix_us}) +
              0.15 * (memory_us + l2_us + matrix_us - std::max({memory_us, l2_us, matrix_us}));
  if (split_k > 1) us += 1.0 + 2 * 4 * split_k * shape.m * shape.n * products / machine.infinity_cache_bytes_per_us;
  if (const auto overlap = config.find("overlap"); overlap != config.end() && overlap->second != 0)
    us -= overlap_saves_us;
  return us;
}

}  // namespace wavetune::predict
