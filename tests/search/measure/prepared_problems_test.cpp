#include "search/measure/prepared_problems.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "db/base/error.h"

namespace wavetune::measure {
namespace {

PreparedProblem problem_of(std::int64_t bytes) {
  PreparedProblem problem;
  problem.inputs.emplace_back(templates::DType::u8, bytes);
  return problem;
}

/// Problems of 100 bytes each, and how many had to be made.
class Counted : public testing::Test {
 protected:
  std::shared_ptr<const PreparedProblem> use(const std::string& name) {
    return problems.get(name, [&] {
      ++made;
      return problem_of(100);
    });
  }
  PreparedProblems problems{250};
  int made = 0;
};

TEST_F(Counted, TheOneUsedLongestAgoIsForgotten) {
  const auto first = use("a");
  EXPECT_EQ(use("a"), first);
  use("b");
  use("a");
  use("c");  // too much with b
  EXPECT_EQ(made, 3);
  EXPECT_EQ(use("a"), first);
  use("b");
  EXPECT_EQ(made, 4);
}

TEST(PreparedProblems, OneLargerThanTheLimitIsKeptWhileItIsUsed) {
  PreparedProblems problems(10);
  const auto large = problems.get("large", [] { return problem_of(100); });
  EXPECT_EQ(problems.get("large", []() -> PreparedProblem { throw std::runtime_error("again"); }), large);
}

TEST(PreparedProblems, WhatWasBegunAheadIsNotMadeTwice) {
  PreparedProblems problems(1000);
  std::atomic<int> made = 0;
  const auto make = [&made] {
    ++made;
    return problem_of(1);
  };
  problems.prepare_ahead("a", make);
  problems.prepare_ahead("a", make);
  EXPECT_NE(problems.get("a", make), nullptr);
  EXPECT_TRUE(problems.ready("a"));
  EXPECT_FALSE(problems.ready("b"));
  EXPECT_EQ(made, 1);
}

TEST_F(Counted, WhatIsInUseIsNotForgotten) {
  const auto first = use("a"), second = use("b"), third = use("c");
  EXPECT_EQ(use("a"), first);
  EXPECT_EQ(made, 3);
  EXPECT_FALSE(problems.has_room_for(0));
}

TEST(PreparedProblems, WhatIsBeingMadeTakesItsRoom) {
  PreparedProblems fresh(250);
  std::promise<void> go;
  fresh.prepare_ahead(
      "slow",
      [waits = go.get_future().share()] {
        waits.wait();
        return problem_of(10);
      },
      200);
  EXPECT_TRUE(fresh.has_room_for(50));
  EXPECT_FALSE(fresh.has_room_for(51));
  go.set_value();
  (void)fresh.get("slow", [] { return problem_of(10); });
  EXPECT_TRUE(fresh.has_room_for(240));
}

TEST(PreparedProblems, AFailureShowsWhenItIsAskedForAndIsTriedAgain) {
  PreparedProblems problems(1000);
  problems.prepare_ahead("a", []() -> PreparedProblem { throw std::runtime_error("no"); });
  EXPECT_THROW(problems.get("a", [] { return problem_of(1); }), std::runtime_error);
  EXPECT_NE(problems.get("a", [] { return problem_of(1); }), nullptr);
}

}  // namespace
}  // namespace wavetune::measure
