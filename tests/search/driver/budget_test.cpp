#include "search/driver/budget.h"

#include <gtest/gtest.h>

namespace wavetune::search {
namespace {

TEST(Budget, SlicesFollowTheWeightsAboveAFloor) {
  EXPECT_NEAR(slice_s(100, 3, 4, 2, 0), 75, 1e-9);
  EXPECT_NEAR(slice_s(100, 3, 4, 2, 10), 10 + 80 * 0.75, 1e-9);
  // A floor that the budget cannot give to all is split evenly.
  EXPECT_NEAR(slice_s(100, 3, 4, 50, 10), 2, 1e-9);
  EXPECT_EQ(slice_s(Budget::unlimited, 1, 2, 3, 4), Budget::unlimited);
}

TEST(Budget, CountsEarlierRuns) {
  EXPECT_NEAR(Budget(100, 40).left_s(), 60, 0.1);
  EXPECT_TRUE(Budget(100, 90).worth_starting());
  EXPECT_FALSE(Budget(100, 97).worth_starting());
  EXPECT_FALSE(Budget(100, 97).spent());
  EXPECT_TRUE(Budget(100, 1000).spent());
  Budget budget(100, 100);
  budget.grant(20);
  EXPECT_FALSE(budget.spent());
  EXPECT_NEAR(budget.left_s(), 20, 0.1);
}

TEST(Budget, CountsFromWhenTheRunBegan) {
  EXPECT_NEAR(Budget(100, 40, Budget::Clock::now() - std::chrono::seconds(10)).left_s(), 50, 0.1);
}

TEST(Budget, UnlimitedIsNeverSpent) {
  const Budget budget(Budget::unlimited, 1e9);
  EXPECT_FALSE(budget.limited());
  EXPECT_FALSE(budget.spent());
  EXPECT_TRUE(budget.worth_starting());
}

TEST(SpentSeconds, AddsGapsWithinRunsAndLeavesOutPauses) {
  EXPECT_EQ(spent_seconds({}), 0);
  EXPECT_EQ(spent_seconds({"2026-11-30T10:00:00Z"}), 0);
  EXPECT_NEAR(spent_seconds(
                  {"2026-11-30T10:00:00Z", "2026-11-30T10:00:01.500Z", "2026-11-30T12:00:00Z", "2026-11-30T12:00:10Z"}),
              11.5, 1e-9);
  EXPECT_NEAR(spent_seconds({"2026-12-31T23:59:59Z", "not a time", "2027-01-01T00:00:01Z"}), 2, 1e-9);
}

}  // namespace
}  // namespace wavetune::search
