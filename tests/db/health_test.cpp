// db verify finds what is wrong and why; db gc drops what can never win, and nothing else.
#include <gmock/gmock.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "db/commands/commands.h"
#include "db/health/garbage.h"
#include "db/health/verify.h"
#include "db/sqlite/connection.h"
#include "db/sqlite/page_checksum.h"
#include "fixtures.h"

namespace wavetune::db {
namespace {

using testing::HasSubstr;

BuildKnowledge knowledge() {
  BuildKnowledge known;
  known.standing = [](std::string_view op) -> OperatorStanding {
    if (op == "gemm") return {Standing::built_in, "aaaa"};
    if (op.starts_with("spec:")) return {Standing::outside};
    return {Standing::unknown};
  };
  known.violation = [](const Environment&, const Problem&, const Config& config) -> std::optional<std::string> {
    if (config.at("bm") > 1000) return "bm is too large";
    return std::nullopt;
  };
  return known;
}

class HealthTest : public testing::Test {
 protected:
  HealthTest() { database_.set_current_source("gemm", "aaaa"); }

  Trial trial(std::int64_t bm, double us, const std::string& source = "aaaa", const std::string& op = "gemm") const {
    Trial made = example_trial(bm, us);
    made.source_hash = source;
    made.problem.op = op;
    return made;
  }
  void add(const Trial& made) { database_.add_trial(example_environment(), made); }
  void add_failed(std::int64_t bm, Outcome outcome = Outcome::compile_error) {
    Trial made = trial(bm, 0);
    made.outcome = outcome;
    made.samples_us.clear();
    add(made);
  }
  void execute(const std::string& sql) const {
    sqlite::Connection(file_, sqlite::Access::read_write).execute("PRAGMA foreign_keys=OFF; " + sql);
  }
  std::vector<Finding> findings() const { return verify(file_, knowledge()).findings; }
  GarbageReport collect(bool keep_failures = false) const {
    return collect_garbage(file_, {.dry_run = false, .keep_failures = keep_failures}, knowledge());
  }
  std::vector<std::int64_t> left() const {
    std::vector<std::int64_t> found;
    for (const StoredTrial& stored : database_.trials()) found.push_back(stored.trial.config.at("bm"));
    return found;
  }

  TemporaryFolder folder_;
  std::string file_ = (folder_ / "tune.db").string();
  Database database_ = Database::open(file_, OpenMode::create);
};

TEST_F(HealthTest, ASoundDatabaseHasNoFindings) {
  add(trial(32, 10));
  add_failed(64);
  database_.put_layout(example_environment(), example_layout());
  const VerifyReport report = verify(file_, knowledge());
  EXPECT_TRUE(report.findings.empty()) << verify_as_text(file_, report);
  EXPECT_TRUE(report.checksums);
  EXPECT_EQ(report.trials, 2);
}

TEST_F(HealthTest, WhatIsUnreadableIsCorrupt) {
  add(trial(32, 10));
  add(trial(64, 20));
  database_.put_layout(example_environment(), example_layout());
  struct Case {
    const char* damage;
    const char* what;
    const char* why;
  };
  const Case cases[] = {{"UPDATE measurements SET outcome = 'fine' WHERE id = 1", "trials", "'fine'"},
                        {"UPDATE measurements SET median_us = 0 WHERE id = 1", "trials", "0 us"},
                        {"UPDATE measurements SET median_us = -1", "trials", "(and 1 more)"},
                        {"UPDATE measurements SET samples_us = '[1,x]' WHERE id = 1", "trials", "samples"},
                        {"UPDATE measurements SET samples_us = x'0102' WHERE id = 1", "trials", "2 bytes"},
                        {"UPDATE problems SET dims = 'm'", "problems", "name=integer"},
                        {"UPDATE problems SET dims = 'n=1,m=2'", "problems", "not in order"},
                        {"UPDATE configurations SET text = 'bm' WHERE id = 1", "configurations", "name=integer"},
                        {"UPDATE configurations SET hash = 1 WHERE id = 1", "configurations", "cannot be found"},
                        {"UPDATE layouts SET candidates = 'x'", "layouts", "layouts.candidates"},
                        {"UPDATE layouts SET objective = 'x'", "layouts", "objective"},
                        {"INSERT INTO verdicts VALUES (1, 1, 1, 1, 'maybe', 'r', 'now')", "verdicts", "maybe"},
                        {"UPDATE measurements SET problem_id = 7 WHERE id = 1", "references", "problems"}};
  const std::string copy = (folder_ / "copy.db").string();
  for (const Case& one : cases) {
    execute(fmt::format("VACUUM INTO '{}'", copy));
    sqlite::Connection(copy, sqlite::Access::read_write).execute(std::string("PRAGMA foreign_keys=OFF; ") + one.damage);
    const VerifyReport report = verify(copy, knowledge());
    EXPECT_TRUE(report.corrupt()) << one.damage;
    EXPECT_TRUE(std::ranges::any_of(report.findings,
                                    [&one](const Finding& finding) {
                                      return finding.severity == Severity::corrupt && finding.what == one.what &&
                                             finding.why.find(one.why) != std::string::npos && !finding.remedy.empty();
                                    }))
        << one.damage << "\n"
        << verify_as_text(copy, report);
    testing::internal::CaptureStdout();
    EXPECT_EQ(db_command({"verify", "--db", copy}, knowledge()), 1);
    EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("corrupt"));
    std::filesystem::remove(copy);
  }
}

TEST_F(HealthTest, ALayoutPlannedFromPublishedTimesOrForAnotherDriverIsNotUnreachable) {
  add(trial(32, 10));
  Environment other_driver = example_environment();
  other_driver.driver = "";
  database_.put_layout(other_driver, example_layout());
  Environment planned{"AMD Instinct MI300X", "gfx942", 304, "", "", ""};
  database_.put_layout(planned, example_layout());
  ASSERT_EQ(findings().size(), 1u);
  const PublishedTime published{"aiter", "gfx942", 304, example_problem(), 5, "kernel", "us", "5", "a.csv", ""};
  database_.add_published({{published}});
  EXPECT_TRUE(findings().empty());
}

TEST_F(HealthTest, StaleAndUnreachableSayWhy) {
  add(trial(32, 10));
  add(trial(64, 5, "old"));
  add(trial(32, 5, "xxxx", "gone"));
  add(trial(2048, 20));
  add(trial(32, 5, "1", "spec:mine"));
  Environment older = example_environment();
  older.compiler_version = "7.1";
  database_.add_trial(older, trial(32, 10));
  database_.set_current_source("spec:mine", "1");
  OfflineTrial offline;
  offline.problem = example_problem();
  offline.config = example_trial().config;
  offline.source_hash = "old";
  offline.predicted_us = 3;
  Environment compiler = example_environment();
  compiler.device = offline_device;
  compiler.driver = "";
  database_.put_offline_trial(compiler, offline);
  database_.put_layout(compiler, example_layout());
  const std::vector<std::byte> code(10, std::byte{1});
  database_.put_winner_code(example_environment(), example_problem(), {example_trial(32).config, "k", code});
  database_.add_verdict(
      {example_environment(), example_problem(), example_trial(2048).config, VerdictKind::pin, "r", ""});
  add_failed(2048, Outcome::fault);
  add(trial(128, 1));  // overtakes the winner that has code
  std::map<std::string, Finding> found;
  for (const Finding& finding : findings()) found[finding.what] = finding;
  const auto expect = [&found](const std::string& what, Severity severity, std::int64_t count, const char* why) {
    ASSERT_TRUE(found.contains(what)) << what;
    EXPECT_EQ(found[what].severity, severity) << what;
    EXPECT_EQ(found[what].count, count) << what;
    EXPECT_THAT(found[what].why, HasSubstr(why));
    EXPECT_FALSE(found[what].remedy.empty());
  };
  expect("trials of gemm", Severity::stale, 1, "old");
  expect("trials of compiler 7.1", Severity::stale, 1, "7.2");
  expect("offline trials of gemm", Severity::stale, 1, "other sources");
  expect("trials of gone", Severity::unreachable, 1, "no operator");
  expect("ok trials of gemm", Severity::unreachable, 1, "bm is too large");
  expect("pin of " + example_problem().key(), Severity::unreachable, 1, "no ok trial");
  expect("code objects", Severity::unreachable, 1, "do not win");
  expect("layouts", Severity::unreachable, 1, "no time of such devices");
  EXPECT_EQ(found.size(), 8u);
  testing::internal::CaptureStdout();
  EXPECT_EQ(db_command({"verify", "--db", file_, "--json"}, knowledge()), 0) << "none of this is corrupt";
  const auto json = nlohmann::json::parse(testing::internal::GetCapturedStdout());
  EXPECT_EQ(json["findings"].size(), 8u);
  EXPECT_EQ(json["corrupt"], false);
}

TEST_F(HealthTest, OtherFilesAreFindingsOrErrors) {
  EXPECT_EQ(error_of([&] { verify(folder_ / "none.db", {}); }).kind(), ErrorKind::not_found);
  execute("PRAGMA user_version=99");
  EXPECT_EQ(error_of([&] { verify(file_, {}); }).kind(), ErrorKind::incompatible);
  const std::string text = (folder_ / "text.db").string();
  std::ofstream(text) << std::string(5000, 'x');
  EXPECT_TRUE(verify(text, {}).corrupt());
}

TEST_F(HealthTest, CollectsWhatCannotWin) {
  add(trial(32, 10));
  add(trial(32, 11));  // the newer one of it
  add(trial(64, 20));
  add_failed(96);
  add(trial(16, 1, "old"));  // other sources
  add(trial(8, 2, "x", "gone"));
  add(trial(4, 3, "1", "spec:mine"));
  add(trial(4, 3, "0", "spec:mine"));
  database_.set_current_source("spec:mine", "1");
  const auto counted = collect_garbage(file_, {.dry_run = true}, knowledge());
  EXPECT_EQ(database_.count_trials(), 8) << "a dry run drops nothing";
  const GarbageReport report = collect();
  for (const GarbageReport& one : {counted, report}) {
    EXPECT_EQ(one.stale, 2);
    EXPECT_EQ(one.superseded, 1);
    EXPECT_EQ(one.failures, 1);
    EXPECT_EQ(one.unknown_operators, 1);
    EXPECT_EQ(one.kept, 3);
  }
  EXPECT_EQ(report.orphans, 3 + 3 + 1) << "configurations 96, 16, 8; sources old, x, 0; the problem of gone";
  EXPECT_EQ(left(), (std::vector<std::int64_t>{32, 64, 4}));
  EXPECT_EQ(database_.winner(example_environment(), example_problem())->median_us, 11);
  EXPECT_EQ(collect().trials(), 0);
  EXPECT_TRUE(findings().empty());
}

TEST_F(HealthTest, FailuresMayStay) {
  add(trial(32, 10));
  add_failed(96);
  EXPECT_EQ(collect(true).failures, 0);
  EXPECT_EQ(left(), (std::vector<std::int64_t>{32, 96}));
}

TEST_F(HealthTest, AFailureThatOverruledAnOkTrialDoesNotBringItBack) {
  add(trial(32, 10));
  add(trial(64, 20));
  add_failed(32, Outcome::wrong);
  collect();
  EXPECT_EQ(left(), (std::vector<std::int64_t>{64}));
}

TEST_F(HealthTest, WhatWinsNowStaysWhateverThisProgramThinks) {
  database_.set_current_source("gemm", "theirs");
  add(trial(32, 10, "theirs"));
  add(trial(64, 20, "theirs"));
  EXPECT_EQ(collect().stale, 1);
  EXPECT_EQ(left(), (std::vector<std::int64_t>{32}));
  EXPECT_EQ(database_.winner(example_environment(), example_problem())->config.at("bm"), 32);
}

TEST_F(HealthTest, VerdictsAndWhatTheyNameStay) {
  add(trial(32, 10));
  add(trial(64, 20));
  database_.add_verdict(
      {example_environment(), example_problem(), example_trial(64).config, VerdictKind::pin, "a", ""});
  database_.add_verdict(
      {example_environment(), example_problem(), example_trial(96).config, VerdictKind::ban, "b", ""});
  database_.set_current_source("gemm", "new");
  collect_garbage(file_, {}, {[](std::string_view) { return OperatorStanding{Standing::built_in, "new"}; }, {}});
  EXPECT_EQ(database_.count_trials(), 0);
  const auto verdicts = database_.verdicts();
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_EQ(verdicts[0].verdict.reason, "a");
  EXPECT_EQ(verdicts[1].verdict.config, example_trial(96).config);
}

TEST_F(HealthTest, CodeOfFormerWinnersAndOldOfflineTrialsGo) {
  add(trial(32, 10));
  const std::vector<std::byte> code(10, std::byte{1});
  database_.put_winner_code(example_environment(), example_problem(), {example_trial(32).config, "k", code});
  add(trial(64, 5));
  OfflineTrial offline;
  offline.problem = example_problem();
  offline.config = example_trial().config;
  offline.predicted_us = 3;
  for (const char* source : {"old", "aaaa"}) {
    offline.source_hash = source;
    database_.put_offline_trial(example_environment(), offline);
  }
  const GarbageReport report = collect();
  EXPECT_EQ(report.code, 1);
  EXPECT_EQ(report.offline, 1);
  EXPECT_EQ(database_.code_totals().objects, 0);
  EXPECT_EQ(database_.offline_trials(example_environment()).size(), 1u);
}

TEST_F(HealthTest, TheFileShrinks) {
  for (int i = 1; i <= 300; ++i) {
    Trial made = trial(i, 10, "old");
    made.error = std::string(2000, 'e');
    add(made);
  }
  add(trial(1, 10));
  const GarbageReport report = collect();
  EXPECT_TRUE(report.compacted);
  EXPECT_LT(report.bytes_after, report.bytes_before / 4);
  EXPECT_TRUE(sqlite::read_format(file_).checksums);
  EXPECT_TRUE(findings().empty());
  testing::internal::CaptureStdout();
  EXPECT_EQ(db_command({"gc", "--db", file_}, knowledge()), 0);
  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              testing::AllOf(HasSubstr("dropped 0 trials"), HasSubstr("bytes before")));
}

// Property: the winners before are the winners after, for many random histories.
TEST_F(HealthTest, WinnersStayAsTheyWere) {
  std::mt19937 random(11);
  for (int round = 0; round < 5; ++round) {
    Contents contents;
    for (int i = 0; i < 400; ++i) {
      StoredTrial stored{trial(1 + random() % 20, 1 + random() % 50, random() % 3 == 0 ? "old" : "aaaa"),
                         example_environment()};
      stored.trial.problem = example_problem(1 + random() % 5);
      stored.trial.created_at = fmt::format("2026-01-01T00:00:{:02}.{:03}Z", random() % 60, random() % 1000);
      if (random() % 5 == 0) {
        stored.trial.outcome = Outcome::wrong;
        stored.trial.median_us = 0;
      }
      contents.trials.push_back(std::move(stored));
    }
    database_.merge(contents);
    const auto text = [this] {
      std::string all;
      for (const Winner& one : database_.winners(example_environment()))
        all += fmt::format("{} {} {}\n", one.problem.key(), to_text(one.config), one.median_us);
      return all;
    };
    const std::string before = text();
    EXPECT_GT(collect().superseded, 0);
    EXPECT_EQ(text(), before);
    for (const StoredTrial& stored : database_.trials()) EXPECT_EQ(stored.trial.outcome, Outcome::ok);
  }
}

}  // namespace
}  // namespace wavetune::db
