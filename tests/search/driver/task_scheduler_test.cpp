#include "search/driver/task_scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace wavetune::search {
namespace {

using Shape = TaskScheduler::Shape;

/// A shape whose best time halves its distance to the roofline with every `halving` trials.
struct FakeShape {
  double start_us;
  double roofline_us;
  double halving;
  double trial_s = 1;

  double best_us(int trials) const {
    double distance = start_us - roofline_us;
    for (int i = 0; i < static_cast<int>(trials / halving); ++i) distance /= 2;
    return roofline_us + distance;
  }
};

std::string play(TaskScheduler& scheduler, const std::vector<FakeShape>& fakes, std::vector<int> trials, int floor,
                 bool plenty, int turns) {
  std::string order;
  for (int i = 0; i < turns; ++i) {
    const auto turn = scheduler.next(floor, plenty);
    if (!turn) break;
    const std::size_t s = turn->shape;
    order += static_cast<char>('a' + s) + std::to_string(turn->until_trials) + " ";
    const int made = turn->until_trials - trials[s];
    trials[s] = turn->until_trials;
    scheduler.done(s, {trials[s], fakes[s].best_us(trials[s]), false, made * fakes[s].trial_s});
  }
  return order;
}

TEST(TaskScheduler, FloorsComeFirstInOrderOfWeight) {
  TaskScheduler scheduler({{5, 1, 0, 0, 0}, {3, 1, 0, 0, 0}, {1, 1, 0, 0, 0}}, 32);
  const std::vector<FakeShape> fakes(3, FakeShape{10, 1, 4});
  EXPECT_EQ(play(scheduler, fakes, {0, 0, 0}, 4, false, 3), "a4 b4 c4 ");
  // After that the heaviest promises most, as they are alike otherwise.
  EXPECT_EQ(scheduler.next(4, false)->shape, 0u);
}

TEST(TaskScheduler, ShapesBelowTheFloorComeBeforeThoseOfEarlierRuns) {
  TaskScheduler scheduler({{5, 1, 0, 16, 3}, {1, 1, 0, 0, 0}, {3, 1, 0, 2, 5}}, 32);
  const std::vector<FakeShape> fakes(3, FakeShape{10, 1, 4});
  EXPECT_EQ(play(scheduler, fakes, {16, 0, 2}, 4, false, 2), "b4 c4 ");
}

TEST(TaskScheduler, TimeGoesWhereMuchIsLeftAboveTheRoofline) {
  // Half the weight, but four times as far from the roofline: it takes twice as much of a step now.
  TaskScheduler scheduler({{2, 10, 0, 4, 11}, {1, 10, 0, 4, 40}}, 64);
  EXPECT_GT(scheduler.promise(1), scheduler.promise(0));
  EXPECT_EQ(scheduler.next(4, false)->shape, 1u);
}

TEST(TaskScheduler, ALaunchIsNoTimeThatTuningGains) {
  // Far above its roofline, and of no weight beside its launch.
  TaskScheduler scheduler({{1, 50, 2, 4, 60}, {1, 0.01, 2, 4, 0.2}}, 64);
  EXPECT_GT(scheduler.promise(0), scheduler.promise(1));
}

TEST(TaskScheduler, AShapeThatStillImprovesGoesOn) {
  TaskScheduler scheduler({{1, 10, 0, 0, 0}, {1, 10, 0, 0, 0}}, 64);
  // a stands still at twice its roofline, b falls towards the same time.
  ASSERT_EQ(scheduler.next(4, false)->shape, 0u);
  scheduler.done(0, {4, 20, false, 4});
  ASSERT_EQ(scheduler.next(4, false)->shape, 1u);
  scheduler.done(1, {4, 40, false, 4});
  EXPECT_EQ(scheduler.next(4, false)->shape, 1u);
  scheduler.done(1, {8, 20, false, 4});
  EXPECT_EQ(scheduler.next(4, false)->shape, 1u) << "it halved in its last turn; the other has less to show";
}

TEST(TaskScheduler, SlowTrialsPromiseLess) {
  TaskScheduler scheduler({{1, 10, 0, 0, 0}, {1, 10, 0, 0, 0}}, 64);
  scheduler.next(4, false);
  scheduler.done(0, {4, 20, false, 40});
  scheduler.next(4, false);
  scheduler.done(1, {4, 20, false, 4});
  EXPECT_NEAR(scheduler.promise(1), 10 * scheduler.promise(0), 1e-9);
}

TEST(TaskScheduler, ATurnDoublesTheTrialsUpToTheCap) {
  TaskScheduler scheduler({{1, 1, 0, 0, 0}, {1e-6, 1, 0, 0, 0}}, 12);
  const std::vector<FakeShape> fakes(2, FakeShape{10, 1, 4});
  EXPECT_EQ(play(scheduler, fakes, {0, 0}, 2, false, 10), "a2 b2 a6 a12 b12 ");
  EXPECT_FALSE(scheduler.next(2, false).has_value());
}

TEST(TaskScheduler, WithPlentyOfTimeEachShapeIsTunedAtOnce) {
  TaskScheduler scheduler({{2, 1, 0, 0, 0}, {1, 1, 0, 3, 7}}, 32);
  const std::vector<FakeShape> fakes(2, FakeShape{10, 1, 4});
  EXPECT_EQ(play(scheduler, fakes, {0, 3}, 4, true, 10), "a32 b32 ");
}

TEST(TaskScheduler, ShapesInWorkAreNotGivenTwice) {
  TaskScheduler scheduler({{2, 1, 0, 0, 0}, {1, 1, 0, 0, 0}, {1, 1, 0, 0, 0, true}, {1, 1, 0, 32, 2}}, 32);
  EXPECT_FALSE(scheduler.busy());
  EXPECT_EQ(scheduler.next(4, false)->shape, 0u);
  EXPECT_EQ(scheduler.next(4, false)->shape, 1u);
  EXPECT_FALSE(scheduler.next(4, false).has_value());
  EXPECT_TRUE(scheduler.busy());
  scheduler.done(1, {4, 3, true, 1});
  scheduler.done(0, {4, 3, false, 1});
  EXPECT_FALSE(scheduler.busy());
  EXPECT_EQ(scheduler.next(4, false)->until_trials, 32) << "the only one left is not interrupted any more";
}

TEST(TaskScheduler, ShapesWithoutATimeOrARooflineHaveAPromise) {
  const TaskScheduler scheduler({{1, 0, 0, 4, 20}, {1, 10, 0, 4, 0}, {1, 10, 0, 4, 20}}, 32);
  EXPECT_GT(scheduler.promise(0), 0);
  EXPECT_DOUBLE_EQ(scheduler.promise(0), scheduler.promise(1));
  EXPECT_DOUBLE_EQ(scheduler.promise(0), scheduler.promise(2));
}

TEST(TaskScheduler, TheSameResultsGiveTheSameTurns) {
  const std::vector<FakeShape> fakes = {{30, 10, 3, 1}, {90, 30, 5, 2}, {12, 10, 2, 0.5}, {500, 20, 9, 1}};
  std::string first;
  for (int i = 0; i < 2; ++i) {
    TaskScheduler scheduler({{4, 10, 0, 0, 0}, {3, 30, 0, 0, 0}, {2, 10, 0, 0, 0}, {1, 20, 0, 0, 0}}, 64);
    const std::string order = play(scheduler, fakes, {0, 0, 0, 0}, 4, false, 30);
    if (i == 0) first = order;
    EXPECT_EQ(order, first);
  }
}

}  // namespace
}  // namespace wavetune::search
