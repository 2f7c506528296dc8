// Shards of a model's shapes: each shape once, by what it costs, the same on every node.
#include "search/driver/shard.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "model/config.h"
#include "search/driver/model_tasks.h"
#include "search/driver/tune_command.h"
#include "templates/registry.h"
#include "tests/support/error_of.h"

namespace wavetune::search {
namespace {

using test::error_of;
using testing::HasSubstr;

std::vector<TuneTask> glm_tasks(const measure::DevicePeak& peak) {
  const model::ModelConfig config = model::resolve_model("glm-5.2");
  return model_tasks(candidate_layouts(config, 8, {4, 8}, {}), {}, peak);
}

TEST(Shard, IsReadFromText) {
  const Shard shard = parse_shard("2/8");
  EXPECT_EQ(shard.index, 2);
  EXPECT_EQ(shard.count, 8);
  EXPECT_EQ(parse_shard("1/1").count, 1);
}

TEST(Shard, BadTextIsRefused) {
  struct Case {
    const char* text;
    const char* part;
  };
  const Case cases[] = {
      {"3/2", "of 2 the last is 2/2"}, {"0/4", "counted from 1"}, {"-1/4", "counted from 1"}, {"1/0", "counted from 1"},
      {"a/b", "not a shard"},          {"1", "not a shard"},      {"", "not a shard"},        {"/", "not a shard"},
      {"1/", "not a shard"},           {"1/2/3", "not a shard"},  {"1/4x", "not a shard"},    {" 1/4", "not a shard"},
      {"1/99999999999", "not a shard"}};
  for (const Case& one : cases) {
    const Error error = error_of([&] { parse_shard(one.text); });
    EXPECT_EQ(error.kind(), ErrorKind::usage) << one.text;
    EXPECT_THAT(error.what(), HasSubstr(one.part)) << one.text;
    EXPECT_THAT(error.what(), HasSubstr("--shard")) << one.text;
  }
  const Error error = error_of([] {
    tune_command({"--model", "model/demo", "--db", "/nonexistent/x.db", "--device", "cpu", "--shard", "3/2"});
  });
  EXPECT_THAT(error.what(), HasSubstr("--shard 3/2"));
}

TEST(Shard, EveryProblemIsInExactlyOneAndTheLoadIsEven) {
  const std::vector<TuneTask> tasks = glm_tasks(shard_peak());
  ASSERT_GT(tasks.size(), 100u);
  double all = 0;
  double heaviest = 0;
  for (const TuneTask& task : tasks) {
    all += task.weight;
    heaviest = std::max(heaviest, task.weight);
  }
  for (const int count : {1, 2, 3, 8, 16}) {
    std::map<db::Problem, int> times;
    for (int index = 1; index <= count; ++index) {
      const auto problems = problems_of({index, count}, tasks);
      for (const db::Problem& problem : problems) ++times[problem];
      double weight = 0;
      for (const TuneTask& task : only(tasks, problems)) weight += task.weight;
      const double cost = (weight / all + static_cast<double>(problems.size()) / static_cast<double>(tasks.size())) / 2;
      // Greedy: the fullest is above the mean by less than one problem.
      const double one = (heaviest / all + 1.0 / static_cast<double>(tasks.size())) / 2;
      EXPECT_NEAR(cost, 1.0 / count, one) << index << "/" << count;
    }
    EXPECT_EQ(times.size(), tasks.size());
    EXPECT_TRUE(std::all_of(times.begin(), times.end(), [](const auto& each) { return each.second == 1; }));
  }
}

TEST(Shard, DependsOnTheProblemsAlone) {
  std::vector<TuneTask> tasks = glm_tasks(shard_peak());
  const auto problems = problems_of({2, 5}, tasks);
  std::shuffle(tasks.begin(), tasks.end(), std::mt19937(1));
  EXPECT_EQ(problems_of({2, 5}, tasks), problems) << "in whatever order they come";
  // A node's own peaks change its weights, not its problems.
  measure::DevicePeak slow = shard_peak();
  slow.bytes_per_us /= 7;
  const std::vector<TuneTask> measured = only(glm_tasks(slow), problems);
  EXPECT_EQ(measured.size(), problems.size());
}

TEST(Shard, MoreShardsThanProblemsLeaveSomeEmpty) {
  const std::vector<TuneTask> tasks = {
      {&templates::get_operator("gemm"), {"gemm", "bf16", {{"m", 1}, {"n", 64}, {"k", 64}}}, 1},
      {&templates::get_operator("gemm"), {"gemm", "bf16", {{"m", 2}, {"n", 64}, {"k", 64}}}, 0}};
  std::size_t problems = 0;
  for (int index = 1; index <= 4; ++index) problems += problems_of({index, 4}, tasks).size();
  EXPECT_EQ(problems, 2u);
  EXPECT_TRUE(problems_of({4, 4}, tasks).empty());
  EXPECT_TRUE(problems_of({1, 4}, {}).empty());
}

}  // namespace
}  // namespace wavetune::search
