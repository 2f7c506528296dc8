#include <gtest/gtest.h>

#include <cmath>

#include "db/base/error.h"
#include "search/driver/model_tasks.h"
#include "search/driver/roofline.h"
#include "search/layout/choose_layout.h"
#include "search/layout/layout_report.h"

namespace wavetune::search {
namespace {

const measure::DevicePeak peak{1000, {{"f32", 1e5}, {"bf16", 1e6}}};

class Layouts : public testing::Test {
 protected:
  Layouts() {
    workload_.concurrency = 8;
    workload_.prefill_tokens = 32;
    workload_.context = 64;
    workload_.max_context = 64;
  }
  std::vector<CandidateLayout> candidates(int devices, const std::vector<int>& tp = {}) {
    return candidate_layouts(config_, devices, tp, workload_);
  }
  /// A winner for every problem of every step, `scale(tp, problem)` times its roofline.
  template <class Scale>
  std::vector<db::Winner> winners(const std::vector<CandidateLayout>& layouts, Scale scale) {
    std::vector<db::Winner> all;
    for (const CandidateLayout& layout : layouts) {
      if (!layout.program) continue;
      for (const TuneTask& task : model_tasks({layout}, workload_, peak)) {
        db::Winner winner;
        winner.problem = task.problem;
        winner.median_us =
            scale(layout.tp, task.problem) * roofline_us(task.op->cost(task.problem), peak, task.problem.dtype) + 1e-3;
        all.push_back(winner);
      }
    }
    return all;
  }
  LayoutInput input(int devices, db::Objective objective = db::Objective::throughput, double memory_gb = 64) {
    return {&config_, devices, static_cast<std::size_t>(memory_gb * 1e9), objective, workload_};
  }
  static bool collective(const db::Problem& problem) { return problem.op == "all_reduce"; }

  model::ModelConfig config_ = model::load_config(WAVETUNE_SOURCE_DIR "/model/demo");
  Workload workload_;
};

TEST_F(Layouts, EveryDivisorIsACandidateAndImpossibleOnesSayWhy) {
  const auto layouts = candidates(6);
  ASSERT_EQ(layouts.size(), 4u);  // 1, 2, 3, 6
  EXPECT_TRUE(layouts[0].program && layouts[1].program);
  EXPECT_EQ(layouts[1].dp, 3);
  EXPECT_FALSE(layouts[2].program || layouts[3].program);
  EXPECT_NE(layouts[2].reason.find("num_attention_heads"), std::string::npos) << layouts[2].reason;
  EXPECT_THROW(candidates(6, {4}), Error);
  EXPECT_THROW(candidates(6, {3}), Error);
  EXPECT_EQ(candidates(6, {2}).size(), 1u);
}

TEST_F(Layouts, CheapCollectivesMakeTensorParallelFasterForOneStream) {
  const auto layouts = candidates(4);
  const CostTable costs(
      winners(layouts, [](int, const db::Problem& problem) { return collective(problem) ? 0.01 : 1.0; }), peak);
  const db::Layout layout = choose_layout(input(4, db::Objective::latency), layouts, costs);
  EXPECT_EQ(layout.tp, 4);
  EXPECT_EQ(layout.dp, 1);
  for (const db::LayoutRow& row : layout.table) EXPECT_NEAR(row.measured_share, 1, 0.05) << row.tp;
}

TEST_F(Layouts, DearCollectivesMakeReplicasWin) {
  const auto layouts = candidates(4);
  const CostTable costs(
      winners(layouts, [](int, const db::Problem& problem) { return collective(problem) ? 1e4 : 1.0; }), peak);
  for (const auto objective : {db::Objective::latency, db::Objective::throughput}) {
    const db::Layout layout = choose_layout(input(4, objective), layouts, costs);
    EXPECT_EQ(layout.tp, 1) << db::to_string(objective);
    EXPECT_EQ(layout.dp, 4);
    EXPECT_GT(layout.table[1].all_reduce_us, 0);
    EXPECT_EQ(layout.table[0].all_reduce_us, 0);
  }
}

TEST_F(Layouts, WhatDoesNotFitCannotWinAndSaysWhy) {
  const auto layouts = candidates(2);
  const CostTable costs(
      winners(layouts, [](int, const db::Problem& problem) { return collective(problem) ? 1e4 : 1.0; }), peak);
  const db::Layout all = choose_layout(input(2), layouts, costs);
  ASSERT_EQ(all.tp, 1);
  // Between what one rank of tp 2 needs and what tp 1 needs.
  const double between = (all.table[0].memory_bytes_per_device + all.table[1].memory_bytes_per_device) / 2;
  const db::Layout layout = choose_layout(input(2, db::Objective::throughput, between / 0.9 / 1e9), layouts, costs);
  EXPECT_EQ(layout.tp, 2);
  EXPECT_FALSE(layout.table[0].fits);
  EXPECT_NE(layout.table[0].reason.find("GB"), std::string::npos);
  try {
    choose_layout(input(2, db::Objective::throughput, 1e-6), layouts, costs);
    FAIL() << "nothing fits";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(std::string(error.what()).find("fits"), std::string::npos);
  }
}

TEST_F(Layouts, UnmeasuredShapesAreEstimatedAtTheEfficiencyOfTheirOperatorAndListed) {
  const auto layouts = candidates(2);
  const CostTable costs(winners({layouts[0]}, [](int, const db::Problem&) { return 10.0; }), peak);
  const db::Layout layout = choose_layout(input(2), layouts, costs);
  EXPECT_TRUE(layout.table[0].estimated.empty());
  EXPECT_FALSE(layout.table[1].estimated.empty());
  EXPECT_LT(layout.table[1].measured_share, 1);
  // Ten times the roofline, like what was measured; a bare roofline would make the unmeasured layout win by a factor of
  // ten.
  EXPECT_GT(layout.table[1].decode_step_us, 0.3 * layout.table[0].decode_step_us);
  const std::string text = layout_text(layout);
  EXPECT_NE(text.find("are estimated, not measured"), std::string::npos) << text;
  EXPECT_NE(text.find("chosen: tp"), std::string::npos) << text;
}

TEST_F(Layouts, TheModelsShapesAreDistinctAndWeighted) {
  const auto tasks = model_tasks(candidates(2), workload_, peak);
  double weight = 0;
  std::set<std::string> keys;
  bool all_reduce = false;
  for (const TuneTask& task : tasks) {
    EXPECT_TRUE(keys.insert(task.problem.key()).second) << task.problem.key();
    EXPECT_NO_THROW(task.op->check(task.problem)) << task.problem.key();
    EXPECT_GT(task.weight, 0);
    weight += task.weight;
    all_reduce = all_reduce || task.problem.op == "all_reduce";
  }
  // Each step counts one: batches 1, 2, 4, 8 and a prefill chunk, of two layouts.
  EXPECT_NEAR(weight, 10, 1e-6);
  EXPECT_TRUE(all_reduce);
}

TEST_F(Layouts, TheOperatorFilterTakesNamesWithAndWithoutFormat) {
  const auto tasks = model_tasks(candidates(1), workload_, peak);
  const auto count = [&](const std::vector<std::string>& names) { return filter_tasks(tasks, names).size(); };
  EXPECT_EQ(count({}), tasks.size());
  EXPECT_EQ(count({"gemm"}), count({"gemm_bf16", "gemm_bf16_f32"}));
  EXPECT_LT(count({"gemm_bf16_f32"}), count({"gemm"}));
  try {
    count({"gemm", "gemmm"});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'gemmm'"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("mla_attention_bf16"), std::string::npos) << error.what();
  }
}

TEST(Workload, StepsAreTunedAtTheBatchesAndChunksAskedFor) {
  Workload workload;
  workload.concurrency = 64;
  workload.decode_batches = {1, 6, 64};
  workload.prefill_tokens = 1024;
  workload.more_prefill_tokens = {4096};
  std::vector<std::int64_t> tokens;
  for (const model::StepShape& step : tuned_steps(workload, {1})) tokens.push_back(step.tokens);
  EXPECT_EQ(tokens, (std::vector<std::int64_t>{1, 6, 64, 1024, 4096}));
}

TEST(Roofline, IsTheLargerOfMemoryAndComputeAtTheFormatsRate) {
  EXPECT_DOUBLE_EQ(roofline_us({5000, 0}, peak, "f32"), 5);
  EXPECT_DOUBLE_EQ(roofline_us({1, 1e6}, peak, "f32"), 10);
  EXPECT_DOUBLE_EQ(roofline_us({1, 1e6}, peak, "bf16_f32"), 1);
  EXPECT_DOUBLE_EQ(roofline_us({1, 1e6}, peak, "i32"), 10);
  EXPECT_DOUBLE_EQ(roofline_us({1, 1e6}, peak, "fp8_token"), 1) << "not measured: as bf16 at least";
}

}  // namespace
}  // namespace wavetune::search
