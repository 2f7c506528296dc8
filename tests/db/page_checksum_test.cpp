// Flipped bytes: the right data or a clear error, never another winner.
#include "db/sqlite/page_checksum.h"

#include <gmock/gmock.h>

#include <fstream>
#include <random>

#include "db/base/file.h"
#include "db/health/verify.h"
#include "db/sqlite/connection.h"
#include "db/sqlite/journal.h"
#include "fixtures.h"

namespace wavetune::db {
namespace {

using testing::HasSubstr;

void write(const std::filesystem::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

/// All that a database says, as text.
std::string contents_of(const Database& database) {
  std::string text;
  for (const StoredTrial& stored : database.trials()) {
    text += fmt::format("{} {} {} {} {} {}\n", stored.trial.problem.key(), to_text(stored.trial.config),
                        stored.trial.median_us, stored.trial.samples_us.size(), stored.trial.error, stored.winner);
  }
  for (const StoredWinner& one : database.all_winners()) {
    text += fmt::format("{} {} {}\n", one.environment.device, one.winner.problem.key(), to_text(one.winner.config));
  }
  for (const auto& [verdict, effect] : database.verdicts()) text += verdict.reason + std::string(to_string(effect));
  for (const auto& [environment, layout] : database.layouts()) text += fmt::format("{} {}\n", layout.tp, layout.dp);
  for (const auto& [op, hash] : database.sources()) text += op + hash;
  return text;
}

void make_database(const std::filesystem::path& path) {
  auto database = Database::open(path, OpenMode::create);
  database.set_current_source("gemm", "aaaa");
  for (int i = 0; i < 60; ++i) {
    Trial trial = example_trial(i % 20 + 1, 10 + (i * 7) % 40);
    trial.problem = example_problem(1 + i % 3);
    if (i % 10 == 0) trial.error = std::string(3000, 'e');  // goes over a page
    database.add_trial(example_environment(), trial);
  }
  database.put_layout(example_environment(), example_layout());
  database.add_verdict({example_environment(), example_problem(1), example_trial(4).config, VerdictKind::ban, "b", ""});
}

class FlippedBytes : public testing::Test {
 protected:
  FlippedBytes() {
    make_database(folder_ / "whole.db");
    whole_ = read_file(folder_ / "whole.db");
    right_ = contents_of(Database::open(folder_ / "whole.db", OpenMode::read_only));
  }

  /// Opens the file with `flip` on one byte: true when that was an error, with the file's name and a kind that says so.
  bool is_refused(std::size_t at, unsigned char flip, OpenMode mode) {
    std::string content = whole_;
    content[at] = static_cast<char>(static_cast<unsigned char>(content[at]) ^ flip);
    const std::filesystem::path path = folder_ / "flipped.db";
    for (const char* more : {"-wal", "-shm"}) std::filesystem::remove(path.string() + more);
    write(path, content);
    try {
      EXPECT_EQ(contents_of(Database::open(path, mode)), right_) << "byte " << at << " ^ " << int(flip);
      return false;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(path.string()));
      EXPECT_THAT(error.kind(), testing::AnyOf(ErrorKind::bad_data, ErrorKind::incompatible))
          << "byte " << at << ": " << error.what();
      return true;
    }
  }

  TemporaryFolder folder_;
  std::string whole_, right_;
};

TEST_F(FlippedBytes, AnywhereInTheFile) {
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 500; ++i) {
    const auto at = std::uniform_int_distribution<std::size_t>(0, whole_.size() - 1)(random);
    refused += is_refused(at, static_cast<unsigned char>(1 + random() % 255), OpenMode::read_only) ? 1 : 0;
  }
  EXPECT_GT(refused, 250) << "pages that are read are checked";
}

TEST_F(FlippedBytes, AnywhereInTheHeader) {
  std::mt19937 random(2);
  for (std::size_t at = 0; at < sqlite::header_bytes; ++at) {
    for (const OpenMode mode : {OpenMode::read_only, OpenMode::create}) {
      is_refused(at, static_cast<unsigned char>(1u << random() % 8), mode);
    }
  }
}

TEST_F(FlippedBytes, VerifyNamesThePage) {
  std::string content = whole_;
  content[4096 * 5 + 1000] = static_cast<char>(content[4096 * 5 + 1000] ^ 1);
  write(folder_ / "flipped.db", content);
  const VerifyReport report = verify(folder_ / "flipped.db", {});
  EXPECT_TRUE(report.corrupt());
  EXPECT_THAT(verify_as_text(folder_ / "flipped.db", report), HasSubstr("(page 6)"));
}

TEST_F(FlippedBytes, InTheLogAreAtMostLost) {
  // SQLite ends a log at the first frame whose checksum does not fit.
  const std::filesystem::path path = folder_ / "log.db";
  std::string log;
  std::string file;
  {
    auto database = Database::open(path, OpenMode::create);
    database.set_current_source("gemm", "aaaa");
    for (int i = 1; i <= 10; ++i) database.add_trial(example_environment(), example_trial(i, 100 - i));
    log = read_file(path.string() + "-wal");
    file = read_file(path);
  }
  ASSERT_GT(log.size(), 10'000u);
  std::mt19937 random(3);
  for (int round = 0; round < 40; ++round) {
    std::string flipped = log;
    const std::size_t at = random() % flipped.size();
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    std::filesystem::remove(path.string() + "-shm");
    write(path, file);
    write(path.string() + "-wal", flipped);
    try {
      const auto database = Database::open(path, OpenMode::create);
      const auto trials = database.trials();
      for (std::size_t i = 0; i < trials.size(); ++i) ASSERT_EQ(trials[i].trial.config.at("bm"), std::int64_t(i) + 1);
      if (const auto winner = database.winner(example_environment(), example_problem())) {
        EXPECT_EQ(winner->config.at("bm"), std::int64_t(trials.size()));
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_data) << error.what();
    }
  }
}

TEST(PageChecksum, PlainSqliteReadsOurFilesAndItsChangesAreSeen) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "tune.db";
  make_database(path);
  sqlite3* plain = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &plain), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(plain, "SELECT * FROM winners; PRAGMA user_version=7", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_EQ(Database::open(path, OpenMode::read_only).count_trials(), 60) << "the header's stamps are free";
  EXPECT_EQ(sqlite3_exec(plain, "UPDATE measurements SET median_us = 1", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(plain);
  const Error error = error_of([&] { Database::open(path, OpenMode::read_only).trials(); });
  EXPECT_EQ(error.kind(), ErrorKind::bad_data);
  EXPECT_THAT(error.what(), HasSubstr("another program"));
}

TEST(PageChecksum, AFileWithoutGetsThemByVacuum) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "old.db";
  sqlite3* plain = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &plain), SQLITE_OK);
  const std::string dump = read_file(WAVETUNE_SOURCE_DIR "/tests/db/data/v1.sql");
  ASSERT_EQ(sqlite3_exec(plain, dump.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(plain);
  const std::string before = contents_of(Database::open(path, OpenMode::create));
  EXPECT_FALSE(sqlite::read_format(path).checksums);
  {
    // Another process has it open all the while, and writes afterwards.
    auto other = Database::open(path, OpenMode::read_write);
    EXPECT_EQ(other.count_trials(), 3);
    sqlite::Connection connection(path, sqlite::Access::read_write);
    sqlite::set_journal(connection);
    connection.execute("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
    EXPECT_TRUE(sqlite::read_format(path).checksums);
    EXPECT_EQ(contents_of(other), before);
    other.add_trial(example_environment(), example_trial());
  }
  EXPECT_EQ(Database::open(path, OpenMode::read_only).count_trials(), 4);
  EXPECT_TRUE(sqlite::check_pages(path).damaged.empty());
}

}  // namespace
}  // namespace wavetune::db
