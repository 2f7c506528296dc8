#include "runtime/engine/layout_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "db/base/error.h"

namespace wavetune::engine {
namespace {

struct Case {
  std::string name;
  int tp_option, dp_option;
  std::optional<std::pair<int, int>> stored;
  int devices;
  int tp, dp;
  LayoutSource source;
};

class ChooseLayout : public testing::TestWithParam<Case> {};

TEST_P(ChooseLayout, FollowsOptionsThenDatabaseThenDefault) {
  const Case& c = GetParam();
  EngineOptions options;
  options.tp = c.tp_option;
  options.dp = c.dp_option;
  std::optional<db::Layout> stored;
  if (c.stored) {
    stored.emplace();
    stored->tp = c.stored->first;
    stored->dp = c.stored->second;
    stored->created_at = "2026-09-01T10:00:00Z";
  }
  const LayoutInfo layout = choose_layout(options, stored, c.devices);
  EXPECT_EQ(layout.tp, c.tp);
  EXPECT_EQ(layout.dp, c.dp);
  EXPECT_EQ(layout.source, c.source);
  EXPECT_EQ(layout.devices, c.devices);
  EXPECT_THAT(layout.description, testing::StartsWith(fmt::format("tp {} x dp {}", c.tp, c.dp)));
}

const std::pair<int, int> tp2_dp2{2, 2}, tp4_dp1{4, 1};

INSTANTIATE_TEST_SUITE_P(
    Cases, ChooseLayout,
    testing::Values(Case{"nothing_stored", 0, 0, {}, 4, 1, 4, LayoutSource::fallback},
                    Case{"stored", 0, 0, tp2_dp2, 4, 2, 2, LayoutSource::stored},
                    Case{"tp_given", 4, 0, tp2_dp2, 4, 4, 1, LayoutSource::command_line},
                    Case{"dp_given_keeps_stored_tp", 0, 1, tp2_dp2, 4, 2, 1, LayoutSource::command_line},
                    Case{"dp_given_stored_tp_too_large", 0, 2, tp4_dp1, 4, 1, 2, LayoutSource::command_line},
                    Case{"both_given", 2, 1, tp4_dp1, 4, 2, 1, LayoutSource::command_line},
                    Case{"one_device", 0, 0, {}, 1, 1, 1, LayoutSource::fallback}),
    [](const auto& param) { return param.param.name; });

TEST(ChooseLayout, RefusesMoreThanThereIs) {
  EngineOptions options;
  options.tp = 4;
  options.device = "cpu:2";
  try {
    choose_layout(options, std::nullopt, 2);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_THAT(error.what(), testing::HasSubstr("needs 4 devices, but 2 are shown"));
  }
  options.tp = -1;
  EXPECT_THROW(choose_layout(options, std::nullopt, 2), Error);
}

}  // namespace
}  // namespace wavetune::engine
