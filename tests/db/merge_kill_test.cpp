// A merge that is killed leaves its output as it was or complete.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <random>
#include <thread>

#include "canonical.h"
#include "db/base/file.h"
#include "db/merge/merge.h"
#include "fixtures.h"

namespace wavetune::db {
namespace {

namespace fs = std::filesystem;

void make_node(const fs::path& path, int node) {
  Contents contents;
  for (int i = 0; i < 1000; ++i) {
    Trial trial = example_trial(16 + i % 100, 10 + i);
    trial.problem = example_problem(1 + node * 8 + i % 8);
    trial.created_at = "2026-08-01T00:00:00.000Z";
    trial.machine = "node" + std::to_string(node);
    contents.trials.push_back({std::move(trial), example_environment()});
  }
  Database::open(path, OpenMode::create).merge(contents);
}

struct Round {
  const char* name;
  bool exists;  ///< the output, before
};

class MergeKill : public testing::TestWithParam<Round> {};

TEST_P(MergeKill, LeavesAllOrNothing) {
  constexpr int rounds = 40;
  const TemporaryFolder folder;
  std::vector<fs::path> nodes;
  std::vector<std::string> bytes;
  for (int node = 0; node < 3; ++node) {
    nodes.push_back(folder / ("node" + std::to_string(node) + ".db"));
    make_node(nodes.back(), node);
    bytes.push_back(read_file(nodes.back()));
  }
  const fs::path start = folder / "start.db";
  make_node(start, 3);
  const fs::path whole = folder / "whole.db";
  if (GetParam().exists) fs::copy_file(start, whole);
  const auto begin = std::chrono::steady_clock::now();
  merge_databases(nodes, whole);
  const auto takes = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin);
  const auto complete = canonical_contents(whole);
  const auto before = canonical_contents(start);

  std::mt19937 random(7);
  int unchanged = 0, changed = 0;
  for (int round = 0; round < rounds; ++round) {
    const fs::path output = folder / "out" / "fleet.db";
    fs::remove_all(output.parent_path());
    fs::create_directory(output.parent_path());
    if (GetParam().exists) fs::copy_file(start, output);
    const pid_t merger = ::fork();
    if (merger == 0) {
      try {
        merge_databases(nodes, output);
      } catch (const std::exception& error) {
        ::fprintf(stderr, "merge: %s\n", error.what());
        ::_exit(2);
      }
      ::_exit(0);
    }
    const auto most = static_cast<int>(takes.count() * 5 / 4);
    std::this_thread::sleep_for(std::chrono::microseconds(std::uniform_int_distribution(0, most)(random)));
    ::kill(merger, SIGKILL);
    int status = 0;
    ::waitpid(merger, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0) << "the merge failed by itself";

    if (!fs::exists(output)) {
      ASSERT_FALSE(GetParam().exists) << "the output is gone";
      ++unchanged;
    } else {
      const auto now = canonical_contents(output);
      ASSERT_TRUE(now == complete || (GetParam().exists && now == before)) << "round " << round << ": half a merge";
      ++(now == complete ? changed : unchanged);
    }
    for (std::size_t node = 0; node < nodes.size(); ++node) ASSERT_EQ(read_file(nodes[node]), bytes[node]);
    merge_databases(nodes, output);
    ASSERT_EQ(canonical_contents(output), complete) << "the next merge completes it";
    for (const auto& entry : fs::directory_iterator(output.parent_path())) {
      EXPECT_TRUE(entry.path().filename().string().starts_with("fleet.db")) << entry.path();
      EXPECT_EQ(entry.path().filename().string().find("merging"), std::string::npos) << "left over: " << entry.path();
    }
  }
  EXPECT_GT(unchanged, 0) << "no kill came before the end";
  RecordProperty("complete", changed);
}

INSTANTIATE_TEST_SUITE_P(Outputs, MergeKill, testing::Values(Round{"New", false}, Round{"Existing", true}),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace wavetune::db
