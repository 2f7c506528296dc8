#include "search/layout/step_survey.h"

#include <gtest/gtest.h>

namespace wavetune::search {
namespace {

class StepSurvey : public testing::TestWithParam<int> {};

/// The demo model on two devices of the CPU.
TEST_P(StepSurvey, MeasuresEveryOperatorOfTheStepsWithAllDevicesBusy) {
  const int tp = GetParam(), dp = 2 / tp;
  const std::shared_ptr<const hip::Provider> provider = hip::load_provider(hip::parse_device_spec("cpu:2"));
  const model::ModelConfig config = model::load_config(WAVETUNE_SOURCE_DIR "/model/demo");
  PlanOptions plan;
  plan.traffic = parse_traffic("in=24,out=8,clients=4");
  plan.step_tokens = 32;
  plan.max_sequences = 4;
  const SurveyOptions options{WAVETUNE_SOURCE_DIR "/model/demo", std::nullopt, WAVETUNE_BINARY, 3};
  const LayoutCosts costs = survey_steps(options, provider, config, tp, dp, plan);
  EXPECT_EQ(costs.context, 32);
  EXPECT_GE(costs.gap_us, 0);

  std::vector<CandidateLayout> candidates = planned_candidates(plan, config, 2, {tp});
  ASSERT_EQ(candidates.size(), 1u);
  StepClock clock(*candidates[0].program, {}, costs.costs, {0, costs.gap_us, costs.context});
  StepTime total;
  for (const StepWork& work : {StepWork{1, 0, 0, 30}, StepWork{3, 0, 0, 30}, StepWork{3, 29, 1, 20}}) {
    const StepTime& time = clock.time(work);
    EXPECT_GT(time.us, 0);
    EXPECT_EQ(time.collectives_us > 0, tp > 1);
    total += time;
  }
  // All but the gathering of sample rows, which depends on two numbers of the step.
  EXPECT_GT(total.by_source[static_cast<std::size_t>(CostSource::measured)], 0.99 * (total.us - total.gaps_us));
  for (const std::string& key : clock.estimated()) EXPECT_TRUE(key.starts_with("embedding/")) << key;

  Node node;
  node.devices = 2;
  node.name = provider->devices().front().name;
  node.memory_bytes = provider->devices().front().memory_bytes;
  const auto load = simulate_loads(node, plan, candidates[0], costs, plan.traffic);
  ASSERT_EQ(load.size(), 1u);
  EXPECT_GT(load[0].tokens_per_s, 0);
}

INSTANTIATE_TEST_SUITE_P(Degrees, StepSurvey, testing::Values(1, 2));

}  // namespace
}  // namespace wavetune::search
