// What must hold of the analytic model whatever its constants are.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "runtime/hip/cuda/cuda_target.h"
#include "search/driver/roofline.h"
#include "search/offline/offline_tuner.h"
#include "search/offline/ranking.h"
#include "search/predict/moe_model.h"
#include "search/predict/predict_config.h"
#include "templates/registry.h"

namespace wavetune::predict {
namespace {

const Machine machine = *machine_for("gfx950");

constexpr NumberFormat formats[] = {NumberFormat::bf16,  NumberFormat::fp8_token, NumberFormat::fp8_block,
                                    NumberFormat::mxfp4, NumberFormat::fp8_mxfp4, NumberFormat::bf16_mxfp4};

double best_us(NumberFormat format, double m, double n, double k) {
  return best_gemm(machine, {format, m, n, k, 1}).prediction.us;
}

TEST(GemmModel, MoreWorkIsNeverFaster) {
  for (const NumberFormat format : formats) {
    for (const double m : {1., 16., 64., 256., 4096.}) {
      for (const double n : {256., 2048., 8192.}) {
        for (const double k : {512., 6144.}) {
          // A few per cent of give: an edge costs something, and the larger shape may have none.
          const double us = best_us(format, m, n, k) / 1.03;
          EXPECT_LE(us, best_us(format, 2 * m, n, k)) << "m " << m << " n " << n << " k " << k;
          EXPECT_LE(us, best_us(format, m, 2 * n, k)) << "m " << m << " n " << n << " k " << k;
          EXPECT_LE(us, best_us(format, m, n, 2 * k)) << "m " << m << " n " << n << " k " << k;
        }
      }
    }
  }
}

TEST(GemmModel, StaysAboveTheDataSheet) {
  const double peaks[] = {2.5e9, 5e9, 5e9, 10e9, 5e9, 2.5e9};
  for (std::size_t i = 0; i < std::size(formats); ++i) {
    for (const double m : {1., 64., 1024., 32768.}) {
      const double n = 6144, k = 4096;
      const double bytes = m * k * activation_bytes(formats[i]) + n * k * weight_bytes(formats[i]) + 2 * m * n;
      EXPECT_GT(best_us(formats[i], m, n, k), std::max(2 * m * n * k / peaks[i], bytes / 8e6)) << "m " << m;
    }
  }
}

TEST(NvidiaModel, RanksTheConfigurationsOfBothMatrixPaths) {
  const Machine h200 = *machine_for("sm_90a");
  const templates::DeviceLimits limits = hip::cuda::limits_of_arch("sm_90a");
  const templates::Operator& op = templates::get_operator("gemm");
  double before_us = 0;
  for (const std::int64_t m : {1, 64, 4096}) {
    const search::TuneTask task{&op, {"gemm", "bf16", {{"batch", 1}, {"m", m}, {"n", 6144}, {"k", 6144}}}, 1};
    const auto ranked = search::ranked_configs(h200, task, limits, 20);
    ASSERT_EQ(ranked.size(), 20u) << m;
    for (const search::RankedConfig& config : ranked) EXPECT_TRUE(std::isfinite(config.predicted_us));
    const double roofline_us = search::roofline_us(op.cost(task.problem), search::data_sheet_peak("sm_90a"), "bf16");
    EXPECT_GT(ranked.front().predicted_us, roofline_us);
    EXPECT_LT(ranked.front().predicted_us, 3 * roofline_us);
    EXPECT_GT(ranked.front().predicted_us, before_us) << "more rows take longer";
    before_us = ranked.front().predicted_us;
  }
}

TEST(GemmModel, FormatsKeepTheirOrder) {
  // Bound by MFMA: FP4 before FP8 before bf16, block scales cost.
  EXPECT_LT(best_us(NumberFormat::mxfp4, 8192, 8192, 8192), best_us(NumberFormat::fp8_token, 8192, 8192, 8192));
  EXPECT_LT(best_us(NumberFormat::fp8_token, 8192, 8192, 8192), best_us(NumberFormat::fp8_block, 8192, 8192, 8192));
  EXPECT_LT(best_us(NumberFormat::fp8_block, 8192, 8192, 8192), best_us(NumberFormat::bf16, 8192, 8192, 8192));
  // Bound by the weights' bytes.
  EXPECT_LT(best_us(NumberFormat::bf16_mxfp4, 1, 16384, 8192), best_us(NumberFormat::bf16, 1, 16384, 8192));
}

TEST(GemmModel, AFewTilesMoreThanTheCusCostAPartOfARound) {
  const auto us = [](double tiles) {
    return predict_gemm(machine, {NumberFormat::bf16, 128 * tiles, 128, 4096, 1}, GemmPlan{}).us;
  };
  EXPECT_NEAR(us(250), us(256), 0.02 * us(256)) << "the same round";
  const double jump = us(257) - us(256), round = us(512) - us(256);
  EXPECT_GT(jump, 0.2 * round);
  EXPECT_LT(jump, round);
}

TEST(GemmModel, SplitKHelpsSkinnyProductsAndHurtsLargeOnes) {
  GemmPlan whole, split;
  whole.bm = split.bm = 16;
  whole.bn = split.bn = 64;
  split.split_k = 8;
  const GemmShape skinny = {NumberFormat::bf16, 16, 256, 14336, 1};
  EXPECT_LT(predict_gemm(machine, skinny, split).us, predict_gemm(machine, skinny, whole).us);
  EXPECT_GT(best_gemm(machine, skinny).plan.split_k, 1);
  const GemmShape large = {NumberFormat::bf16, 8192, 8192, 4096, 1};
  whole.bm = split.bm = whole.bn = split.bn = 128;
  EXPECT_GT(predict_gemm(machine, large, split).us, predict_gemm(machine, large, whole).us);
  EXPECT_EQ(best_gemm(machine, large).plan.split_k, 1);
}

TEST(GemmModel, StreamKEvensOutAnAwkwardNumberOfTiles) {
  GemmPlan plan;
  const GemmShape shape = {NumberFormat::bf16, 128 * 270, 128, 16384, 1};
  const double rounds = predict_gemm(machine, shape, plan).us;
  plan.split_k = 0;
  EXPECT_LT(predict_gemm(machine, shape, plan).us, rounds);
}

TEST(GemmModel, NeighbouringTilesOnAnXcdReadLess) {
  GemmPlan apart, together;
  apart.group_m = 1;
  apart.xcd = false;
  together.group_m = 8;
  together.xcd = true;
  const GemmShape shape = {NumberFormat::mxfp4, 8192, 8192, 8192, 1};
  EXPECT_LT(predict_gemm(machine, shape, together).infinity_cache,
            0.8 * predict_gemm(machine, shape, apart).infinity_cache);
}

TEST(GemmModel, MoreStepsInFlightHideLatency) {
  double before = std::numeric_limits<double>::infinity();
  for (const double stages : {1., 2., 3., 4.}) {
    GemmPlan plan;
    plan.bm = 16;
    plan.bn = 64;
    plan.stages = stages;
    const double us = predict_gemm(machine, {NumberFormat::bf16, 16, 4096, 6144, 1}, plan).latency;
    EXPECT_LT(us, before) << stages;
    before = us;
  }
}

TEST(GemmModel, TilesThatDoNotFitAreInfinite) {
  GemmPlan plan;
  plan.bm = plan.bn = 256;
  plan.stages = 3;
  plan.bk = 128;
  EXPECT_TRUE(std::isinf(predict_gemm(machine, {NumberFormat::bf16, 4096, 4096, 4096, 1}, plan).us)) << "LDS";
  plan.stages = 1;
  EXPECT_TRUE(std::isfinite(predict_gemm(machine, {NumberFormat::bf16, 4096, 4096, 4096, 1}, plan).us));
  EXPECT_TRUE(std::isinf(predict_gemm(machine, {NumberFormat::fp8_block, 4096, 4096, 4096, 1}, plan).us))
      << "two accumulators";
}

TEST(GemmModel, SaysWhatBoundsIt) {
  EXPECT_EQ(best_gemm(machine, {NumberFormat::mxfp4, 16384, 16384, 16384, 1}).prediction.bound(), "mfma");
  EXPECT_EQ(best_gemm(machine, {NumberFormat::bf16, 1, 57344, 8192, 1}).prediction.bound(), "hbm");
  EXPECT_EQ(best_gemm(machine, {NumberFormat::mxfp4, 1, 128, 512, 1}).prediction.bound(), "launch");
}

TEST(MoeModel, ExpertsAreReadOnceTheyAreChosen) {
  EXPECT_NEAR(active_experts(256, 8, 1), 8, 1e-9);
  EXPECT_NEAR(active_experts(256, 8, 4096), 256, 1e-9);
  double before = 0;
  for (const double tokens : {1., 4., 32., 256., 2048., 16384.}) {
    MoeShape shape;
    shape.tokens = tokens;
    shape.inter = 512;
    const MoePrediction moe = best_moe(machine, shape);
    EXPECT_GT(moe.us(), before) << tokens;
    EXPECT_GT(moe.gate_up.prediction.hbm, moe.down.prediction.hbm * (tokens < 1000 ? 1.5 : 0)) << tokens;
    before = moe.us();
  }
  // From 256 tokens on all 257 experts are read: 1.29 GB.
  MoeShape all;
  all.tokens = 256;
  all.inter = 512;
  EXPECT_GT(best_moe(machine, all).us(), 1.29e9 / 8e6);
}

TEST(Machine, KnowsTheTwoChipsAndTheirFormats) {
  EXPECT_FALSE(machine_for("gfx90a"));
  EXPECT_EQ(machine_for("gfx942")->cus, 304);
  EXPECT_EQ(flops_per_clock(machine, NumberFormat::mxfp4), 2 * flops_per_clock(machine, NumberFormat::fp8_mxfp4));
  EXPECT_EQ(number_format("bf16_f32"), NumberFormat::bf16);
  EXPECT_EQ(number_format("fp8_block"), NumberFormat::fp8_block);
  EXPECT_FALSE(number_format("int4"));
}

TEST(PredictedConfig, KnownOccupancyReplacesTheEstimate) {
  const templates::Operator& gemm = templates::get_operator("gemm");
  const db::Problem problem = db::problem_from_key("gemm/bf16/batch=1,k=8192,m=16,n=32768");
  db::Config config = {{"path", 5}, {"bm", 16},     {"bn", 64},     {"bk", 64},     {"wm", 1},      {"wn", 4},
                       {"wk", 1},   {"mfma", 16},   {"stages", 2},  {"direct", 1},  {"swizzle", 1}, {"shuffled", 1},
                       {"xcd", 1},  {"group_m", 8}, {"split_k", 1}, {"epilogue", 1}};
  EXPECT_GT(predicted_us(machine, gemm, problem, config, {.waves_per_simd = 1}),
            predicted_us(machine, gemm, problem, config, {.waves_per_simd = 4}));
  config["split_k"] = 2;
  EXPECT_EQ(plan_of(config).split_k, 2);
  EXPECT_EQ(plan_of(config).wn, 4);
}

TEST(PredictedConfig, OtherOperatorsFollowTheirRooflineAndWaves) {
  const templates::Operator& op = templates::get_operator("silu_mul");
  const templates::DeviceLimits limits{"gfx950", 64, 1024, 163840, 256};
  const db::Problem small = db::problem_from_key("silu_mul/bf16/m=1,n=2048");
  const db::Problem large = db::problem_from_key("silu_mul/bf16/m=4096,n=2048");
  const db::Config config = op.default_config(large, limits);
  const double us = predicted_us(machine, op, large, config);
  EXPECT_GT(us, predicted_us(machine, op, small, config));
  EXPECT_GT(us, op.cost(large).bytes / 8e6);
  EXPECT_GE(predicted_us(machine, op, large, config, {.waves_per_simd = 1}),
            predicted_us(machine, op, large, config, {.waves_per_simd = 8}));
}

TEST(Ranking, ComesInOrderAndSpreadsOverTiles) {
  const templates::Operator& gemm = templates::get_operator("gemm");
  const search::TuneTask task{&gemm, db::problem_from_key("gemm/bf16/batch=1,k=2048,m=256,n=4096"), 1};
  const templates::DeviceLimits limits{"gfx950", 64, 1024, 163840, 256};
  const auto ranked = search::ranked_configs(machine, task, limits, 24);
  ASSERT_EQ(ranked.size(), 24u);
  std::set<std::string> tiles, texts;
  const templates::Space space = gemm.space(task.problem, limits);
  double best = ranked.front().predicted_us;
  for (const search::RankedConfig& item : ranked) {
    EXPECT_TRUE(space.valid(item.config)) << db::to_text(item.config);
    texts.insert(db::to_text(item.config));
    tiles.insert(std::to_string(item.config.at("bm")) + "x" + std::to_string(item.config.at("bn")) + "x" +
                 std::to_string(item.config.at("bk")));
    best = std::min(best, item.predicted_us);
  }
  EXPECT_EQ(texts.size(), 24u) << "one came twice";
  EXPECT_GE(tiles.size(), 4u);
  // With the occupancy estimate folded in, the first one is the best or next to it.
  EXPECT_LE(ranked.front().predicted_us, 1.1 * best);
}

TEST(DataSheet, PeaksKnowTheFormatsOfTheModel) {
  const measure::DevicePeak peak = search::data_sheet_peak("gfx950");
  EXPECT_NEAR(search::roofline_us({0, 5e9}, peak, "fp8_block"), 1, 1e-9);
  EXPECT_NEAR(search::roofline_us({0, 10e9}, peak, "mxfp4"), 1, 1e-9);
  EXPECT_NEAR(search::roofline_us({8e6, 0}, peak, "bf16_f32"), 1, 1e-9);
}

}  // namespace
}  // namespace wavetune::predict
