// A full disk, a file that was copied half, and several programs at once: nothing finished is lost, no winner is wrong.
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <random>
#include <set>
#include <thread>

#include "db/base/file.h"
#include "db/health/garbage.h"
#include "db/health/verify.h"
#include "fixtures.h"

namespace wavetune::db {
namespace {

using testing::HasSubstr;

constexpr int not_permitted = 77;

/// Runs `work` in a child process; what it returns is the exit code, an exception is 1.
pid_t started(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  int code = 1;
  try {
    code = work();
  } catch (const std::exception& error) {
    ::fprintf(stderr, "child: %s\n", error.what());
  }
  ::_exit(code);
}

int ended(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Adds trials, each of a new configuration and with a long log, until that fails. All that were added must be there
/// afterwards, with their winner, and the message must say what is full.
int fill_up(const std::filesystem::path& path) {
  int added = 0;
  std::string message;
  try {
    auto database = Database::open(path, OpenMode::create);
    database.set_current_source("gemm", "aaaa");
    for (; added < 10'000; ++added) {
      Trial trial = example_trial(added + 1, 1000.0 / (added + 1));
      trial.error = std::string(5000, 'e');
      database.add_trial(example_environment(), trial);
    }
    return 2;  // it never was full
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::io) throw;
    message = error.what();
  }
  if (added < 10 || message.find("make room") == std::string::npos ||
      message.find(path.string()) == std::string::npos) {
    ::fprintf(stderr, "after %d trials: %s\n", added, message.c_str());
    return 3;
  }
  const auto database = Database::open(path, OpenMode::read_only);
  if (database.count_trials() != added) return 4;
  return database.winner(example_environment(), example_problem())->config.at("bm") == added ? 0 : 5;
}

TEST(DiskFull, FilesMayNotGrow) {
  const TemporaryFolder folder;
  const auto path = folder / "tune.db";
  EXPECT_EQ(ended(started([&] {
              ::signal(SIGXFSZ, SIG_IGN);
              const rlimit limit{1'000'000, 1'000'000};
              if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return not_permitted;
              return fill_up(path);
            })),
            0);
  // With room again it goes on.
  auto database = Database::open(path, OpenMode::create);
  database.add_trial(example_environment(), example_trial(999'999, 1e-3));
  EXPECT_EQ(database.winner(example_environment(), example_problem())->config.at("bm"), 999'999);
  EXPECT_TRUE(verify(path, {}).findings.empty());
}

TEST(DiskFull, SmallFileSystem) {
  const TemporaryFolder folder;
  const int code = ended(started([&] {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=1m") != 0) {
      return not_permitted;
    }
    const int filled = fill_up(folder / "tune.db");
    if (filled != 0) return filled;
    // gc needs room, too, for writing the file anew: without it, it still drops what it can or says why not.
    try {
      collect_garbage(folder / "tune.db", {}, {});
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::io) throw;
    }
    return verify(folder / "tune.db", {}).corrupt() ? 6 : 0;
  }));
  if (code == not_permitted) GTEST_SKIP() << "mounting a tmpfs is not permitted here";
  EXPECT_EQ(code, 0);
}

TEST(HalfCopied, AtManyLengths) {
  const TemporaryFolder folder;
  {
    auto database = Database::open(folder / "whole.db", OpenMode::create);
    database.set_current_source("gemm", "aaaa");
    for (int i = 1; i <= 80; ++i) database.add_trial(example_environment(), example_trial(i, 100 - i));
  }
  const std::string whole = read_file(folder / "whole.db");
  std::mt19937 random(5);
  std::set<std::size_t> lengths = {1, 99, 100, 511, 512, 4095, 4096, 4097, whole.size() - 1};
  for (std::size_t size = 4096; size < whole.size(); size += 4096) lengths.insert(size);
  for (int i = 0; i < 40; ++i) lengths.insert(1 + random() % (whole.size() - 1));
  const auto path = folder / "half.db";
  for (const std::size_t length : lengths) {
    for (const OpenMode mode : {OpenMode::read_only, OpenMode::create}) {
      for (const char* more : {"-wal", "-shm"}) std::filesystem::remove(path.string() + more);
      std::ofstream(path, std::ios::binary) << whole.substr(0, length);
      try {
        const auto database = Database::open(path, mode);
        EXPECT_EQ(database.winner(example_environment(), example_problem())->config.at("bm"), 80) << length;
        EXPECT_EQ(database.trials().size(), 80u) << length;
        ADD_FAILURE() << "a file cut at " << length << " of " << whole.size() << " bytes passed for whole";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::bad_data) << length << ": " << error.what();
        EXPECT_THAT(error.what(), HasSubstr(path.string()));
      }
      EXPECT_TRUE(verify(path, {}).corrupt()) << length;
    }
  }
}

TEST(ManyAtOnce, TwoTunersAndAServer) {
  constexpr int each = 100;
  const TemporaryFolder folder;
  const auto path = folder / "tune.db";
  Database::open(path, OpenMode::create).set_current_source("gemm", "aaaa");
  // A trial of bm = i takes 1000 - i us: the winner that the server sees can only get faster.
  std::vector<pid_t> children;
  for (const int first : {1, 1 + each}) {
    children.push_back(started([&path, first] {
      auto database = Database::open(path, OpenMode::create);
      for (int i = first; i < first + each; ++i) database.add_trial(example_environment(), example_trial(i, 1000 - i));
      return 0;
    }));
  }
  children.push_back(started([&path] {
    const auto database = Database::open(path, OpenMode::read_only);
    double best = 1000;
    while (best > 1000 - 2 * each) {
      const auto winner = database.winner(example_environment(), example_problem());
      if (!winner) continue;
      if (winner->median_us > best || winner->median_us != 1000.0 - static_cast<double>(winner->config.at("bm")))
        return 2;
      best = winner->median_us;
    }
    return 0;
  }));
  for (const pid_t child : children) EXPECT_EQ(ended(child), 0);
  EXPECT_EQ(Database::open(path, OpenMode::read_only).count_trials(), 2 * each);
  EXPECT_TRUE(verify(path, {}).findings.empty());
}

BuildKnowledge gemm_is_aaaa() {
  return {[](std::string_view) { return OperatorStanding{Standing::built_in, "aaaa"}; }, {}};
}

TEST(ManyAtOnce, GcWhileATunerWrites) {
  constexpr int each = 150;
  const TemporaryFolder folder;
  const auto path = folder / "tune.db";
  Database::open(path, OpenMode::create).set_current_source("gemm", "aaaa");
  const pid_t tuner = started([&path] {
    auto database = Database::open(path, OpenMode::create);
    for (int i = 1; i <= each; ++i) {
      database.add_trial(example_environment(), example_trial(i, 1000 - i));
      Trial useless = example_trial(i, 1);
      useless.source_hash = "old";
      database.add_trial(example_environment(), useless);
      if (database.winner(example_environment(), example_problem())->config.at("bm") != i) return 2;
    }
    return 0;
  });
  std::int64_t dropped = 0;
  int status = 0;
  while (::waitpid(tuner, &status, WNOHANG) == 0) dropped += collect_garbage(path, {}, gemm_is_aaaa()).stale;
  EXPECT_EQ(status, 0);
  dropped += collect_garbage(path, {}, gemm_is_aaaa()).stale;
  EXPECT_EQ(dropped, each);
  EXPECT_EQ(Database::open(path, OpenMode::read_only).count_trials(), each);
  EXPECT_FALSE(verify(path, gemm_is_aaaa()).corrupt());
}

TEST(Killed, GcLeavesTheSameWinnersAndNothingHalf) {
  const TemporaryFolder folder;
  {
    auto database = Database::open(folder / "full.db", OpenMode::create);
    database.set_current_source("gemm", "aaaa");
    std::mt19937 random(9);
    Contents contents;
    for (int i = 0; i < 3000; ++i) {
      StoredTrial stored{example_trial(1 + random() % 60, 10 + random() % 90), example_environment()};
      stored.trial.problem = example_problem(1 + random() % 8);
      stored.trial.created_at = fmt::format("2026-01-01T00:{:02}:{:02}.{:03}Z", i / 60 % 60, i % 60, random() % 1000);
      if (random() % 3 == 0) stored.trial.source_hash = "old";
      if (random() % 4 == 0) {
        stored.trial.outcome = Outcome::wrong;
        stored.trial.median_us = 0;
      }
      contents.trials.push_back(std::move(stored));
    }
    database.merge(contents);
  }
  const auto text = [](const std::filesystem::path& path) {
    std::string all;
    for (const StoredWinner& one : Database::open(path, OpenMode::read_only).all_winners())
      all += fmt::format("{} {} {}\n", one.winner.problem.key(), to_text(one.winner.config), one.winner.median_us);
    return all;
  };
  const std::string right = text(folder / "full.db");
  const auto path = folder / "tune.db";
  std::mt19937 random(10);
  int killed = 0;
  for (int round = 0; round < 100; ++round) {
    for (const char* more : {"", "-wal", "-shm"}) std::filesystem::remove(path.string() + more);
    std::filesystem::copy_file(folder / "full.db", path);
    const pid_t child = started([&path] {
      collect_garbage(path, {}, gemm_is_aaaa());
      return 0;
    });
    std::this_thread::sleep_for(std::chrono::microseconds(std::uniform_int_distribution(0, 60'000)(random)));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    killed += WIFSIGNALED(status) ? 1 : 0;
    ASSERT_EQ(text(path), right) << "round " << round;
    const VerifyReport report = verify(path, gemm_is_aaaa());
    ASSERT_FALSE(report.corrupt()) << verify_as_text(path, report);
  }
  EXPECT_GT(killed, 20) << "too few were caught at work";
  collect_garbage(path, {}, gemm_is_aaaa());
  EXPECT_EQ(text(path), right);
}

}  // namespace
}  // namespace wavetune::db
