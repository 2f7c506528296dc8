#include "search/driver/budget.h"

#include <gtest/gtest.h>

namespace wavetune::search {
namespace {

TEST(Budget, SlicesFollowTheWeightsAboveAFloor) {
  const Budget budget(100, 0);
  EXPECT_NEAR(budget.slice_s(3, 4, 2, 0), 75, 0.1);
  EXPECT_NEAR(budget.slice_s(3, 4, 2, 10), 10 + 80 * 0.75, 0.1);
  // A floor that the budget cannot give to all is split evenly.
  EXPECT_NEAR(budget.slice_s(3, 4, 50, 10), 2, 0.1);
}

TEST(Budget, CountsEarlierRuns) {
  EXPECT_NEAR(Budget(100, 40).left_s(), 60, 0.1);
  EXPECT_TRUE(Budget(100, 97).spent());
  EXPECT_TRUE(Budget(100, 1000).spent());
  Budget budget(100, 100);
  budget.grant(20);
  EXPECT_FALSE(budget.spent());
  EXPECT_NEAR(budget.left_s(), 20, 0.1);
}

TEST(Budget, UnlimitedIsNeverSpent) {
  const Budget budget(Budget::unlimited, 1e9);
  EXPECT_FALSE(budget.limited());
  EXPECT_FALSE(budget.spent());
  EXPECT_EQ(budget.slice_s(1, 2, 3, 4), Budget::unlimited);
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
