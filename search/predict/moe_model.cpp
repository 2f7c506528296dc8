#include "search/predict/moe_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "search/predict/tile_cost.h"

namespace wavetune::predict {
namespace {

/// Four waves a block, one to four of them along k.
std::vector<GemmPlan> make_grouped_plans() {
  std::vector<GemmPlan> plans;
  for (const double bm : {16, 32, 64, 128}) {
    for (const double bn : {32, 64, 128, 256}) {
      for (const double wk : {1, 2, 4}) {
        GemmPlan plan;
        plan.bm = bm;
        plan.bn = bn;
        plan.wk = wk;
        plan.wm = wk == 1 ? 2 : 1;
        plan.wn = wk == 4 ? 1 : 2;
        plans.push_back(plan);
      }
    }
  }
  return plans;
}

}  // namespace

double active_experts(double experts, double topk, double tokens) {
  return experts * (1 - std::pow(1 - topk / experts, tokens));
}

Prediction predict_grouped(const Machine& machine, const GroupedShape& shape, const GemmPlan& plan) {
  const Calibration& c = calibration();
  const FormatCalibration& kernel = grouped_calibration(shape.format);
  const double parts = std::max(1.0, plan.split_k);
  const TileCost tile = tile_cost(machine, shape.format, kernel, plan, shape.k / parts);
  Prediction result;
  if (!tile.fits || (parts > 1 && tile.k_padded * (parts - 1) >= shape.k)) {
    result.us = std::numeric_limits<double>::infinity();
    return result;
  }
  const double active = active_experts(shape.experts, shape.topk, shape.tokens);
  // An expert's last tile is half full on average, once it has more rows than half a tile.
  const double rows_each = shape.tokens * shape.topk / active;
  const double tiles_each = std::max(1.0, rows_each / plan.bm + 0.5);
  const double tile_rows = active * tiles_each + shape.shared * std::ceil(shape.tokens / plan.bm);
  const double tiles = tile_rows * std::ceil(shape.n / plan.bn) * parts;
  const RoundsCost rounds = rounds_cost(machine, tile, tiles, false, false);
  result.rounds = rounds.rounds;
  result.blocks_per_cu = tile.blocks_per_cu;
  result.launch = kernel.launch_us;
  const double on_busiest = std::max(1.0, std::ceil(rounds.rounds - 1e-9));
  result.mfma = tile.mfma * on_busiest;
  result.lds = tile.lds * on_busiest;
  result.l2 = tile.l2 * on_busiest;
  result.compute = rounds.compute;
  result.latency = rounds.latency;
  result.hbm = ((active + shape.shared) * shape.n * shape.k * weight_bytes(shape.format) + shape.other_bytes) /
               machine.hbm_bytes_per_us;
  if (parts > 1) {
    result.reduction =
        c.reduce_us + parts * shape.tokens * (shape.topk + shape.shared) * shape.n * 8 / c.reduce_bytes_per_us;
  }
  result.us = result.launch + overlap(c.memory_overlap, {rounds.cu, result.hbm}) + result.reduction;
  return result;
}

BestPlan best_grouped(const Machine& machine, const GroupedShape& shape) {
  static const std::vector<GemmPlan> plans = make_grouped_plans();
  BestPlan best;
  best.prediction.us = std::numeric_limits<double>::infinity();
  for (const GemmPlan& plan : plans) {
    const Prediction prediction = predict_grouped(machine, shape, plan);
    if (prediction.us < best.prediction.us) best = {plan, prediction};
  }
  return best;
}

MoePrediction best_moe(const Machine& machine, const MoeShape& shape) {
  const double visits = shape.topk + shape.shared;
  const double bytes = activation_bytes(shape.format);
  GroupedShape stage{shape.format,  shape.tokens, 2 * shape.inter, shape.hidden,
                     shape.experts, shape.topk,   shape.shared};
  stage.other_bytes = shape.tokens * (shape.hidden + visits * shape.inter) * bytes;
  MoePrediction result;
  result.gate_up = best_grouped(machine, stage);
  stage.n = shape.hidden;
  stage.k = shape.inter;
  stage.other_bytes =
      shape.tokens * visits * (shape.inter * bytes + shape.hidden * 2 * calibration().moe_output_passes);
  result.down = best_grouped(machine, stage);
  return result;
}

}  // namespace wavetune::predict
