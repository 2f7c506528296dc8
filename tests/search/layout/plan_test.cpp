// The planner on GLM-5.2 and eight MI355X, from published kernel times.
#include "search/layout/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "db/base/error.h"
#include "db/base/file.h"
#include "db/transfer/aiter_table.h"
#include "search/layout/plan_options.h"
#include "search/layout/plan_report.h"

namespace wavetune::search {
namespace {

using testing::HasSubstr;

std::vector<ReferenceTime> table(const std::string& name) {
  const std::string file = WAVETUNE_SOURCE_DIR "/tests/search/layout/data/" + name;
  return references_of(db::read_aiter_table(read_file(file), file).rows);
}

struct Planned {
  Plan plan;
  std::string text;
  nlohmann::json json;
  const db::LayoutRow& row(int tp) const { return *std::ranges::find(plan.layout.table, tp, &db::LayoutRow::tp); }
};

class GlmPlan : public testing::Test {
 protected:
  Planned plan(const std::string& devices, const std::string& workload,
               db::Objective objective = db::Objective::throughput) {
    const Node node = named_node(devices);
    std::vector<ReferenceTime> references = references_;
    references.insert(references.end(), node.references.begin(), node.references.end());
    const auto costs =
        std::make_shared<const LayoutCosts>(LayoutCosts{CostTable({}, node.peak, references, node.arch)});
    PlanOptions options;
    options.objective = objective;
    options.traffic = parse_traffic(workload);
    options.formats = served_formats("mxfp4");
    options.formats.cache = CacheFormat::fp8;
    options.speculation = speculation_;
    options.gpu_hour = 2.5;
    Planned planned;
    planned.plan = plan_layout(config_, node, options, planned_candidates(options, config_, node.devices, {}),
                               [&](const CandidateLayout&) { return costs; });
    PlanReport report{&planned.plan, &node, &options, assumptions_of(options, costs->costs),
                      reference_run(config_, node, options, *costs)};
    planned.text = plan_text(report);
    planned.json = nlohmann::json::parse(plan_event(report));
    return planned;
  }

  model::ModelConfig config_ = model::glm_5_2_config();
  Speculation speculation_;
  std::vector<ReferenceTime> references_ = [] {
    std::vector<ReferenceTime> all = table("glm5_fp4_tuned_fmoe.csv");
    for (ReferenceTime& row : table("glm5_bf16_tuned_gemm.csv")) all.push_back(std::move(row));
    return all;
  }();
};

// ATOM's published TPOT at TP4 (facts of ROCm/ATOM recipes/GLM-5.md): 9.4, 16.8 and 29.3 ms.
TEST_F(GlmPlan, DecodingAtTp4TakesWhatAtomPublished) {
  const Planned planned = plan("4xMI355X", "in=1000,out=1000,hit=0,clients=1/16/64");
  const std::vector<db::LoadPoint>& load = planned.row(4).load;
  ASSERT_EQ(load.size(), 3u);
  EXPECT_NEAR(load[0].tpot_ms / 9.4, 1, 0.15);
  EXPECT_NEAR(load[1].tpot_ms / 16.8, 1, 0.15);
  EXPECT_NEAR(load[2].tpot_ms / 29.3, 1, 0.15);
  EXPECT_THAT(planned.text, HasSubstr("ATOM, TP4 on 4 x MI355X"));
  EXPECT_EQ(planned.json["reference"]["predicted"].size(), 3u);
}

TEST_F(GlmPlan, TwoReplicasOfFourWinTheLoadThatTheyWereFoundToWin) {
  const Planned planned = plan("8xMI355X", "in=20000,out=1000,hit=0.6");
  EXPECT_EQ(planned.plan.layout.tp, 4);
  EXPECT_EQ(planned.plan.layout.dp, 2);
  EXPECT_NEAR(planned.row(4).knee_tokens_per_s / planned.row(8).knee_tokens_per_s / 1.33, 1, 0.2);
  EXPECT_NEAR(planned.row(4).saturated_tokens_per_s / planned.row(8).saturated_tokens_per_s / 1.33, 1, 0.2);
  EXPECT_FALSE(planned.row(1).fits);
  EXPECT_THAT(planned.row(1).reason, HasSubstr("GB"));
  for (const int tp : {2, 4, 8}) {
    const db::LayoutRow& row = planned.row(tp);
    EXPECT_TRUE(row.fits) << tp;
    EXPECT_GT(row.knee_tokens_per_s, 0) << tp;
    EXPECT_GE(row.load.size(), 5u) << tp;
    EXPECT_LE(row.load.back().ttft_p95_s, 5) << tp;
    EXPECT_EQ(row.measured_share, 0) << tp;
    EXPECT_GT(row.published_share, 0.3) << tp;
    EXPECT_LT(row.published_share, 1) << tp;
  }
  EXPECT_THAT(planned.text, HasSubstr("chosen for throughput: tp 4 x dp 2"));
  EXPECT_THAT(planned.text, HasSubstr("2626 /")) << "the published rows stand beside";
  EXPECT_EQ(planned.json["tp"], 4);
}

TEST_F(GlmPlan, ASingleStreamGetsAllDevices) {
  const Planned planned = plan("8xMI355X", "in=10000,out=1500,clients=1", db::Objective::latency);
  EXPECT_EQ(planned.plan.layout.tp, 8);
  EXPECT_EQ(planned.json["objective"], "latency");
}

TEST_F(GlmPlan, WithoutAnOperatorsRowsThePlanSaysThatItIsEstimated) {
  const Planned with = plan("4xMI355X", "in=1000,out=1000,clients=16");
  std::erase_if(references_, [](const ReferenceTime& reference) { return reference.problem.op == "fused_moe"; });
  const Planned without = plan("4xMI355X", "in=1000,out=1000,clients=16");
  EXPECT_LT(without.row(4).published_share, with.row(4).published_share - 0.2);
  const auto names_experts = [](const std::string& key) { return key.starts_with("grouped_gemm/mxfp4"); };
  EXPECT_TRUE(std::ranges::none_of(with.row(4).estimated, names_experts));
  EXPECT_TRUE(std::ranges::any_of(without.row(4).estimated, names_experts));
  EXPECT_THAT(without.text, HasSubstr("are estimated, not measured"));
}

TEST_F(GlmPlan, SpeculationSpeedsASingleStreamUpByLessThanItsAcceptedLength) {
  const double plain = plan("8xMI355X", "in=10000,out=1500,clients=1").row(8).single_stream_tokens_per_s;
  speculation_ = parse_speculation("5");
  EXPECT_NEAR(speculation_.mean_length(), 3.61, 1e-9);
  const double fast = plan("8xMI355X", "in=10000,out=1500,clients=1").row(8).single_stream_tokens_per_s;
  EXPECT_GT(fast, 1.5 * plain);
  EXPECT_LT(fast, 3.61 * plain);
}

TEST_F(GlmPlan, MoneyFollowsTheThroughput) {
  const Planned planned = plan("8xMI355X", "in=2000,out=500,clients=64", db::Objective::cost);
  const db::LayoutRow& chosen = planned.row(planned.plan.layout.tp);
  EXPECT_NEAR(chosen.score, 1e6 / cost_of_million(2.5, 8, chosen.knee_tokens_per_s), 1e-6);
  EXPECT_NEAR(cost_of_million(2.5, 8, 2626), 2.115, 1e-3);
  EXPECT_THAT(planned.text, HasSubstr("$/M tok"));
}

TEST_F(GlmPlan, TheSamePlanTwiceIsTheSame) {
  const std::string workload = "in=2000,out=200,hit=0.5,clients=8";
  EXPECT_EQ(plan("8xMI355X", workload).text, plan("8xMI355X", workload).text);
}

TEST(ServedFormats, WeightsTakeWhatTheCheckpointsDo) {
  // amd/GLM-5.2-MXFP4 has 437.99 GB, of which 19.9 GB are the MTP layer; GLM-5.2 in bf16 1,506.66 GB.
  const model::ModelConfig config = model::glm_5_2_config();
  const model::Program program = model::build_program(config, {.tp = 1});
  EXPECT_NEAR(served_weight_bytes(program, served_formats("mxfp4")) / 1e9, 437.99 - 19.9, 1.0);
  EXPECT_NEAR(served_weight_bytes(program, served_formats("bf16")) / 1e9, 1506.66 - 19.9, 1.0);
  EXPECT_NEAR(mtp_weight_bytes(program) / 1e9, 19.9, 0.1);
  ServedFormats fp8 = served_formats("mxfp4");
  fp8.cache = CacheFormat::fp8;
  EXPECT_EQ(served_cache_bytes_per_token(program, served_formats("mxfp4")), 95'232);
  EXPECT_EQ(served_cache_bytes_per_token(program, fp8), 47'700);
  EXPECT_THROW(served_formats("int3"), Error);
}

TEST(NamedNode, WrongNamesListTheKnownOnes) {
  EXPECT_EQ(named_node("8xMI355X").devices, 8);
  for (const char* text : {"MI355X", "0xMI355X", "9xMI355X", "8xMI300A", "x", ""}) {
    try {
      named_node(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("8xMI355X")) << text;
    }
  }
}

TEST(ParseSpeculation, ReadsCountsAndProbabilities) {
  EXPECT_EQ(parse_speculation("0").draft_tokens, 0);
  EXPECT_THAT(parse_speculation("2:0.5/0.25").acceptance, testing::ElementsAre(0.5, 0.25));
  for (const char* text : {"", "x", "9", "2:0.5", "2:0.5/0.6", "1:1.5", "-1"})
    EXPECT_THROW(parse_speculation(text), Error) << text;
}

}  // namespace
}  // namespace wavetune::search
