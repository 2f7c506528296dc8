#include "search/predict/predict_config.h"

#include <algorithm>
#include <cmath>

#include "search/predict/moe_model.h"
#include "search/predict/nvidia_model.h"
#include "templates/gemm/matrix.h"
#include "templates/gemm/product.h"

namespace wavetune::predict {
namespace {

using templates::Config;
using templates::Problem;

constexpr double launch_us = 3;
// Waves on a CU that keep enough loads in flight for HBM's full rate: 8 TB/s x 0.8 us / 256 CUs are 25 KB, and a wave
// has some 3 KB on the way.
constexpr double saturating_waves = 8;

double value(const Config& config, std::string_view name, double fallback) {
  const auto at = config.find(name);
  return at == config.end() ? fallback : static_cast<double>(at->second);
}

bool on_matrix_path(const Config& config) {
  const auto path = config.find("path");
  return path != config.end() &&
         (path->second == templates::matrix_path::tile || path->second == templates::matrix_path::skinny);
}

GemmPlan with_facts(GemmPlan plan, const CompiledFacts& facts) {
  if (facts.waves_per_simd) {
    const double waves = std::max(1.0, plan.wm * plan.wn * plan.wk);
    plan.blocks_per_cu = std::max(1, static_cast<int>(*facts.waves_per_simd * 4 / waves));
  }
  plan.matrix_share = facts.matrix_share.value_or(0);
  return plan;
}

double gemm_us(const Machine& machine, NumberFormat format, const Problem& problem, const GemmPlan& plan) {
  const GemmShape shape = {format, static_cast<double>(problem.dim("m")), static_cast<double>(problem.dim("n")),
                           static_cast<double>(problem.dim("k")), static_cast<double>(problem.dim_or("batch", 1))};
  return predict_gemm(machine, shape, plan).us;
}

double grouped_us(const Machine& machine, NumberFormat format, const Problem& problem, GemmPlan plan,
                  bool parts_in_tile) {
  const auto dim = [&problem](std::string_view name) { return static_cast<double>(problem.dim(name)); };
  // With SwiGLU a block computes gate and up of its columns: bn counts both on the matrix paths, one on the others.
  const double parts = problem.dim_or("swiglu", 0) != 0 ? 2 : 1;
  if (!parts_in_tile) plan.bn *= parts;
  GroupedShape shape{format, dim("m"), dim("n") * parts, dim("k"), dim("experts"), dim("topk")};
  const double pairs = dim("m") * dim("topk");
  const double rows_in = parts > 1 ? dim("m") : pairs;
  shape.other_bytes = rows_in * dim("k") * activation_bytes(format) + pairs * dim("n") * 2;
  return predict_grouped(machine, shape, plan).us;
}

double nvidia_us(const Machine& machine, const templates::Operator& op, NumberFormat format, const Problem& problem,
                 const Config& config, std::optional<int> waves_per_simd) {
  const auto dim = [&problem](std::string_view name) { return static_cast<double>(problem.dim(name)); };
  GemmShape shape = {format, dim("m"), dim("n"), dim("k"), 1};
  if (op.name() == "gemm")
    return nvidia_gemm_us(machine, format, shape, static_cast<double>(problem.dim_or("batch", 1)), config,
                          waves_per_simd);
  // Tokens spread over the experts that they choose; with SwiGLU gate and up are columns of one product.
  const double experts = active_experts(dim("experts"), dim("topk"), dim("m"));
  shape.m = std::max(1.0, dim("m") * dim("topk") / experts);
  shape.n *= problem.dim_or("swiglu", 0) != 0 ? 2 : 1;
  return nvidia_gemm_us(machine, format, shape, experts, config, waves_per_simd);
}

double streaming_us(const Machine& machine, const templates::Operator& op, const Problem& problem, const Config& config,
                    std::optional<int> waves_per_simd) {
  const templates::Cost cost = op.cost(problem);
  const double rate = machine.vector_flops_per_clock * machine.clock_mhz * machine.cus;
  const double roofline = std::max(cost.bytes / machine.hbm_bytes_per_us, cost.flops / rate);
  double us = 0;
  double most_waves = 0;
  const auto launches = templates::dry_launches(op, problem, config);
  for (const templates::Launch& launch : launches) {
    const double blocks = static_cast<double>(launch.grid[0]) * launch.grid[1] * launch.grid[2];
    const double threads = static_cast<double>(launch.block[0]) * launch.block[1] * launch.block[2];
    double in_flight = blocks * std::ceil(threads / 64) / machine.cus;
    if (waves_per_simd) in_flight = std::min(in_flight, 4.0 * std::max(1, *waves_per_simd));
    most_waves = std::max(most_waves, in_flight);
    us += launch_us;
  }
  return us + roofline * std::max(1.0, saturating_waves / std::max(most_waves, 1.0 / machine.cus));
}

}  // namespace

GemmPlan plan_of(const Config& config) {
  GemmPlan plan;
  plan.bm = value(config, "bm", plan.bm);
  plan.bn = value(config, "bn", plan.bn);
  plan.bk = value(config, "bk", plan.bk);
  plan.split_k = value(config, "split_k", plan.split_k);
  plan.group_m = value(config, "group_m", plan.group_m);
  plan.xcd = value(config, "xcd", 0) != 0;
  const std::int64_t path = config.contains("path") ? config.at("path") : templates::matrix_path::tile;
  if (path == templates::matrix_path::tile || path == templates::matrix_path::skinny) {
    plan.wm = value(config, "wm", plan.wm);
    plan.wn = value(config, "wn", plan.wn);
    plan.wk = value(config, "wk", plan.wk);
    plan.mfma = value(config, "mfma", plan.mfma);
    plan.stages = value(config, "stages", plan.stages);
    plan.direct = value(config, "direct", 1) != 0;
    plan.shuffled = value(config, "shuffled", 1) != 0;
    plan.rows_out = value(config, "epilogue", 1) != 0;
    plan.skinny = path == templates::matrix_path::skinny;
    return plan;
  }
  // The paths of product.hip: one buffer through registers, plain weights.
  namespace product = templates::product_path;
  plan.shuffled = false;
  plan.direct = false;
  plan.rows_out = false;
  plan.stages = 1;
  plan.mfma = 16;
  plan.skinny = path == product::matrix_direct || path == product::shared_k || path == product::direct;
  plan.vector_unit = path != product::matrix && path != product::matrix_direct;
  const double tm = std::max(1.0, value(config, "tm", 1)), tn = std::max(1.0, value(config, "tn", 1));
  const double workers = plan.bm / tm * (plan.bn / tn);
  if (!plan.vector_unit) {
    plan.wm = plan.bm / tm;
    plan.wn = plan.bn / tn;
  } else {
    // Workers are threads (half waves for shared_k): so many waves in all.
    plan.wm = 1;
    plan.wn = std::max(1.0, workers / (path == product::shared_k ? 2 : 64));
  }
  return plan;
}

double predicted_us(const Machine& machine, const templates::Operator& op, const Problem& problem, const Config& config,
                    const CompiledFacts& facts) {
  const std::optional<NumberFormat> format = number_format(problem.dtype);
  if (format && on_nvidia_path(config)) return nvidia_us(machine, op, *format, problem, config, facts.waves_per_simd);
  if (format && (op.name() == "gemm" || op.name() == "grouped_gemm")) {
    GemmPlan plan = with_facts(plan_of(config), facts);
    if (on_matrix_path(config)) {
      const templates::MatrixFormat matrix = *templates::matrix_format(problem.dtype);
      plan.registers = static_cast<double>(templates::matrix_registers(matrix, config));
      plan.lds_bytes = static_cast<double>(templates::matrix_lds_bytes(matrix, config));
    }
    if (op.name() == "gemm") return gemm_us(machine, *format, problem, plan);
    return grouped_us(machine, *format, problem, plan, on_matrix_path(config));
  }
  return streaming_us(machine, op, problem, config, facts.waves_per_simd);
}

}  // namespace wavetune::predict
