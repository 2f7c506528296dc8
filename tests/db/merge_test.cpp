// wavetune merge: which files it takes, which it refuses, and what is left behind.
#include "db/merge/merge.h"

#include <gmock/gmock.h>

#include <fstream>

#include "canonical.h"
#include "db/base/file.h"
#include "db/commands/commands.h"
#include "db/machines.h"
#include "db/schema.h"
#include "db/sqlite/statement.h"
#include "fixtures.h"

namespace wavetune::db {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

Trial trial_at(std::int64_t bm, double us, const std::string& created_at, const std::string& machine = "node1:0") {
  Trial trial = example_trial(bm, us);
  trial.created_at = created_at;
  trial.machine = machine;
  return trial;
}

class MergeTest : public testing::Test {
 protected:
  MergeTest() {
    auto a = Database::open(a_, OpenMode::create);
    a.set_current_source("gemm", "aaaa");
    a.add_trial(example_environment(), trial_at(32, 20, "2026-08-01T00:00:00.000Z"));
    a.add_trial(example_environment(), trial_at(64, 10, "2026-08-01T00:00:01.000Z"));
    auto b = Database::open(b_, OpenMode::create);
    b.set_current_source("gemm", "aaaa");
    b.add_trial(example_environment(), trial_at(64, 10, "2026-08-01T00:00:01.000Z"));
    b.add_trial(example_environment(), trial_at(128, 8, "2026-08-01T00:00:02.000Z", "node2:0"));
    b.put_winner_code(example_environment(), example_problem(),
                      {{{"bm", 128}, {"bn", 128}}, "key", std::as_bytes(std::span(code_))});
    b.put_layout(example_environment(), example_layout());
  }

  fs::path path(const std::string& name) const { return folder_ / name; }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_.path())) found.push_back(entry.path().filename());
    return found;
  }

  const std::string code_ = "code of bm=128";
  TemporaryFolder folder_;
  fs::path a_ = folder_ / "a.db", b_ = folder_ / "b.db", c_ = folder_ / "c.db";
};

TEST_F(MergeTest, EverythingComesAlongAndInputsStay) {
  const std::string before_a = read_file(a_);
  const std::string before_b = read_file(b_);
  const MergeReport report = merge_databases({a_, b_}, c_);
  EXPECT_EQ(report.tables.at("measurements").added, 3);
  EXPECT_EQ(report.tables.at("measurements").known, 1);
  EXPECT_EQ(report.tables.at("layouts").added, 1);
  EXPECT_EQ(read_file(a_), before_a);
  EXPECT_EQ(read_file(b_), before_b);
  EXPECT_THAT(names(), testing::IsSupersetOf({"a.db", "b.db", "c.db"}));
  for (const std::string& name : names()) EXPECT_THAT(name, testing::Not(HasSubstr("merging"))) << "left over";

  const auto merged = Database::open(c_, OpenMode::read_write);
  EXPECT_EQ(merged.count_trials(), 3);
  EXPECT_EQ(merged.winner(example_environment(), example_problem())->config.at("bm"), 128);
  EXPECT_EQ(merged.winner_code_key(example_environment(), example_problem()), "key");
  EXPECT_EQ(merged.code("key")->size(), code_.size());
  EXPECT_EQ(merged.latest_layout(example_environment(), "cafe", 8)->tp, 4);
  EXPECT_EQ(merged.trials().back().trial.machine, "node2:0");
}

TEST_F(MergeTest, AnExistingOutputKeepsWhatItHas) {
  Database::open(c_, OpenMode::create).add_trial(example_environment(), trial_at(256, 5, "2026-08-01T00:00:03.000Z"));
  merge_databases({a_}, c_);
  merge_databases({b_, a_}, c_);
  EXPECT_EQ(Database::open(c_, OpenMode::read_only).count_trials(), 4);
}

TEST_F(MergeTest, TheOutputAmongTheInputsAndRepeatedInputsAreLeftOut) {
  const MergeReport report = merge_databases({a_, b_, folder_.path() / "." / "a.db", b_}, a_);
  EXPECT_EQ(report.left_out.size(), 3u);
  EXPECT_EQ(report.tables.at("measurements").added, 1);
  EXPECT_EQ(Database::open(a_, OpenMode::read_only).count_trials(), 3);
  fs::create_hard_link(b_, path("link.db"));
  EXPECT_EQ(merge_databases({b_, path("link.db")}, c_).left_out.size(), 1u);
}

TEST_F(MergeTest, OfTwoRowsOfOneMeasurementTheOneThatSaysMoreIsKept) {
  auto poorer = Database::open(c_, OpenMode::create);
  Trial trial = trial_at(64, 10, "2026-08-01T00:00:01.000Z");
  trial.samples_us.clear();
  trial.resources = {};
  poorer.add_trial(example_environment(), trial);
  EXPECT_EQ(merge_databases({a_}, c_).tables.at("measurements").replaced, 1);
  EXPECT_EQ(poorer.trials().at(0).trial.samples_us.size(), 3u);
  EXPECT_EQ(poorer.trials().at(0).trial.resources.vgpr, 128);
}

TEST_F(MergeTest, TheSourcesThatWereSaidLastCount) {
  const auto said = [](const fs::path& file, const std::string& hash, const std::string& at) {
    sqlite::Connection connection(file, sqlite::Access::read_write);
    sqlite::Statement(connection, "INSERT OR REPLACE INTO sources (op, current_hash, said_at) VALUES ('gemm', ?1, ?2)")
        .bind(hash, at)
        .run();
  };
  said(a_, "bbbb", "2026-08-02T00:00:00.000Z");
  said(b_, "aaaa", "2026-08-01T00:00:00.000Z");
  merge_databases({a_, b_}, c_);
  EXPECT_EQ(Database::open(c_, OpenMode::read_only).current_source("gemm"), "bbbb");
  merge_databases({b_, a_}, path("d.db"));
  EXPECT_EQ(Database::open(path("d.db"), OpenMode::read_only).current_source("gemm"), "bbbb");
}

TEST_F(MergeTest, AnOlderInputIsUpgradedInACopy) {
  const fs::path old = path("v1.db");
  sqlite::Connection(old, sqlite::Access::create).execute(read_file(WAVETUNE_SOURCE_DIR "/tests/db/data/v1.sql"));
  const std::string before = read_file(old);
  merge_databases({a_, old}, c_);
  EXPECT_EQ(Database::open(c_, OpenMode::read_only).count_trials(), 5);
  EXPECT_EQ(read_file(old), before);
  for (const std::string& name : names()) EXPECT_THAT(name, testing::Not(HasSubstr("upgrading"))) << "left over";
}

TEST_F(MergeTest, BadInputsAreNamedAndNothingIsWritten) {
  std::ofstream(path("text.db")) << "this is not a database, but it is long enough to look at";
  sqlite::Connection(path("foreign.db"), sqlite::Access::create).execute("CREATE TABLE t (x)");
  fs::copy_file(a_, path("newer.db"));
  sqlite::Connection(path("newer.db"), sqlite::Access::read_write).execute("PRAGMA user_version=99");
  // A page in the middle overwritten: opening and reading the first page do not show it.
  fs::copy_file(b_, path("damaged.db"));
  {
    std::fstream file(path("damaged.db"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096);
    file << std::string(8192, '\x5a');
  }
  fs::copy_file(b_, path("cut.db"));
  fs::resize_file(path("cut.db"), fs::file_size(b_) / 2 + 100);
  sqlite::Connection(path("empty.db"), sqlite::Access::create).execute("VACUUM");

  struct Case {
    const char* name;
    ErrorKind kind;
    const char* part;
  };
  const Case cases[] = {{"text.db", ErrorKind::bad_data, "not a SQLite file"},
                        {"foreign.db", ErrorKind::bad_data, "not of wavetune"},
                        {"newer.db", ErrorKind::incompatible, "schema version 99"},
                        {"damaged.db", ErrorKind::bad_data, "damaged"},
                        {"cut.db", ErrorKind::bad_data, "damaged"},
                        {"missing.db", ErrorKind::not_found, "no such file"},
                        {"empty.db", ErrorKind::bad_data, "is empty"}};
  for (const bool exists : {false, true}) {
    if (exists) fs::copy_file(a_, c_);
    for (const Case& one : cases) {
      const std::string before = exists ? read_file(c_) : "";
      // The good one first: it must not have been taken when the bad one shows.
      const Error error = error_of([&] { merge_databases({b_, path(one.name)}, c_); });
      EXPECT_EQ(error.kind(), one.kind) << error.what();
      EXPECT_THAT(error.what(), HasSubstr(one.part));
      EXPECT_THAT(error.what(), HasSubstr(one.name));
      EXPECT_EQ(fs::exists(c_), exists) << one.name;
      if (exists) {
        EXPECT_EQ(read_file(c_), before) << one.name;
      }
    }
  }
  for (const Case& one : cases) {
    if (!fs::exists(path(one.name))) continue;
    const std::string before = read_file(path(one.name));
    if (std::string(one.name) != "missing.db") {
      EXPECT_EQ(error_of([&] { merge_databases({b_}, path(one.name)); }).kind(), one.kind) << "as output: " << one.name;
    }
    EXPECT_EQ(read_file(path(one.name)), before) << one.name;
  }
}

TEST_F(MergeTest, ALiveWriterOfAnInputDoesNotMatter) {
  auto writer = Database::open(a_, OpenMode::read_write);
  writer.add_trial(example_environment(), trial_at(512, 4, "2026-08-01T00:00:09.000Z"));
  ASSERT_GT(fs::file_size(a_.string() + "-wal"), 0u) << "its last trial lies in the write-ahead log";
  merge_databases({a_, b_}, c_);
  EXPECT_EQ(Database::open(c_, OpenMode::read_only).count_trials(), 4);
}

TEST_F(MergeTest, CommandSaysWhatItDidAndWhichMachineIsSlow) {
  {
    auto a = Database::open(a_, OpenMode::read_write);
    auto b = Database::open(b_, OpenMode::read_write);
    for (int i = 0; i < 8; ++i) {
      a.add_trial(example_environment(), trial_at(1000 + i, 50 + i, "2026-08-01T00:01:00.000Z", "node1:0"));
      b.add_trial(example_environment(), trial_at(1000 + i, 1.1 * (50 + i), "2026-08-01T00:01:00.000Z", "node2:0"));
    }
  }
  testing::internal::CaptureStdout();
  EXPECT_EQ(merge_command({a_.string(), b_.string(), "-o", c_.string()}), 0);
  const std::string said = testing::internal::GetCapturedStdout();
  EXPECT_THAT(said, HasSubstr("2 databases merged: 19 trials added (1 already there), 1 layouts added"));
  EXPECT_THAT(said, HasSubstr("machine node2:0 is 10.0 % slower than the others (geometric mean over 8"));
  EXPECT_THAT(said, testing::Not(HasSubstr("machine node1:0")));

  testing::internal::CaptureStdout();
  EXPECT_EQ(db_command({"machines", "--db", c_.string()}), 0);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("slower than the others"));
  testing::internal::CaptureStdout();
  EXPECT_EQ(db_command({"show", "--db", c_.string()}), 0);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("made on node1:0 10, node2:0 9"));

  EXPECT_EQ(error_of([] { merge_command({"a.db"}); }).kind(), ErrorKind::usage);
  EXPECT_EQ(error_of([] { merge_command({"-o", "c.db"}); }).kind(), ErrorKind::usage);
  const Error nowhere = error_of([&] { merge_command({a_.string(), "-o", "/no/such/folder/c.db"}); });
  EXPECT_THAT(nowhere.what(), HasSubstr("/no/such/folder"));
}

}  // namespace
}  // namespace wavetune::db
