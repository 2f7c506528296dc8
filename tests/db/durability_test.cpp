// Several writers at once, and writers that die.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <random>
#include <set>
#include <thread>

#include "db/database.h"
#include "fixtures.h"

namespace wavetune::db {
namespace {

/// Adds trials bm = first, first + 1, ... and reports each on `pipe` once it is stored; never returns.
[[noreturn]] void write_for_ever(const std::filesystem::path& path, std::int32_t first, int pipe) {
  try {
    auto database = Database::open(path, OpenMode::create);
    for (std::int32_t bm = first;; ++bm) {
      database.add_trial(example_environment(), example_trial(bm, 1 + bm));
      if (::write(pipe, &bm, sizeof bm) != sizeof bm) ::_exit(1);
    }
  } catch (const std::exception& error) {
    ::fprintf(stderr, "writer: %s\n", error.what());
  }
  ::_exit(2);
}

TEST(Durability, KilledWriterLosesNoFinishedTrial) {
  const TemporaryFolder folder;
  const auto path = folder / "tune.db";
  std::mt19937 random(42);
  std::set<std::int64_t> reported;
  for (int round = 0; round < 100; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t writer = ::fork();
    if (writer == 0) write_for_ever(path, round * 100'000 + 1, ends[1]);
    ::close(ends[1]);
    // In the first milliseconds it is opening or creating the file: that must be survived, too.
    std::this_thread::sleep_for(std::chrono::microseconds(std::uniform_int_distribution(0, 40'000)(random)));
    ::kill(writer, SIGKILL);
    int status = 0;
    ::waitpid(writer, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer gave up by itself: " << WEXITSTATUS(status);
    std::int32_t bm = 0;
    while (::read(ends[0], &bm, sizeof bm) == sizeof bm) reported.insert(bm);
    ::close(ends[0]);

    const auto database = Database::open(path, OpenMode::create);
    std::set<std::int64_t> stored;
    for (const StoredTrial& trial : database.trials()) stored.insert(trial.trial.config.at("bm"));
    for (const std::int64_t finished : reported) ASSERT_TRUE(stored.contains(finished)) << finished;
    ASSERT_LE(stored.size(), reported.size() + static_cast<size_t>(round) + 1) << "at most one in flight for each kill";
  }
  EXPECT_FALSE(reported.empty());
}

TEST(Durability, TwoProcessesWriteAtOnce) {
  constexpr int each = 100;
  const TemporaryFolder folder;
  const auto path = folder / "tune.db";
  pid_t writers[2];
  for (int process = 0; process < 2; ++process) {
    writers[process] = ::fork();
    if (writers[process] == 0) {
      int code = 0;
      try {
        auto database = Database::open(path, OpenMode::create);
        for (int i = 0; i < each; ++i) database.add_trial(example_environment(), example_trial(process * 1000 + i, 5));
      } catch (const std::exception& error) {
        ::fprintf(stderr, "writer: %s\n", error.what());
        code = 1;
      }
      ::_exit(code);
    }
  }
  for (const pid_t writer : writers) {
    int status = 0;
    ::waitpid(writer, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(Database::open(path, OpenMode::read_only).count_trials(), 2 * each);
}

TEST(Durability, ReaderSeesWhatAnotherConnectionAdds) {
  const TemporaryFolder folder;
  auto writer = Database::open(folder / "tune.db", OpenMode::create);
  const auto reader = Database::open(folder / "tune.db", OpenMode::read_only);
  writer.set_current_source("gemm", "aaaa");
  EXPECT_EQ(reader.count_trials(), 0);
  writer.add_trial(example_environment(), example_trial());
  EXPECT_TRUE(reader.winner(example_environment(), example_problem()));
}

}  // namespace
}  // namespace wavetune::db
