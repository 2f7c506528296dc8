// Pins and bans: what a person decides wins over what was measured, and can be taken back.
#include "db/verdict.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <sstream>

#include "db/commands/commands.h"
#include "db/transfer/json_export.h"
#include "fixtures.h"

namespace wavetune::db {
namespace {

using testing::HasSubstr;

class VerdictTest : public testing::Test {
 protected:
  VerdictTest() {
    database_.set_current_source("gemm", "aaaa");
    for (const auto& [bm, us] : {std::pair(32, 10.0), std::pair(64, 20.0), std::pair(128, 30.0)})
      database_.add_trial(example_environment(), example_trial(bm, us));
  }

  void give(VerdictKind kind, std::int64_t bm, const std::string& reason = "because") {
    database_.add_verdict({example_environment(), example_problem(), example_trial(bm).config, kind, reason, ""});
  }
  std::int64_t winner() const {
    const auto found = database_.winner(example_environment(), example_problem());
    return found ? found->config.at("bm") : 0;
  }
  Effect effect(std::size_t at) const { return database_.verdicts().at(at).effect; }

  TemporaryFolder folder_;
  std::string file_ = (folder_ / "tune.db").string();
  Database database_ = Database::open(file_, OpenMode::create);
};

TEST_F(VerdictTest, APinWinsAndABanDoesNot) {
  EXPECT_EQ(winner(), 32);
  give(VerdictKind::ban, 32, "hangs with two streams");
  EXPECT_EQ(winner(), 64);
  give(VerdictKind::pin, 128);
  EXPECT_EQ(winner(), 128);
  give(VerdictKind::none, 128);
  EXPECT_EQ(winner(), 64);
  give(VerdictKind::none, 32);
  EXPECT_EQ(winner(), 32);
  const auto all = database_.verdicts();
  ASSERT_EQ(all.size(), 4u) << "none is deleted";
  EXPECT_EQ(all[0].verdict.reason, "hangs with two streams");
  EXPECT_EQ(all[0].effect, Effect::overruled);
  EXPECT_EQ(all[3].effect, Effect::taken_back);
}

TEST_F(VerdictTest, TheNewestOnAConfigurationCounts) {
  give(VerdictKind::pin, 128);
  give(VerdictKind::ban, 128);
  EXPECT_EQ(winner(), 32);
  EXPECT_EQ(effect(0), Effect::overruled);
  EXPECT_EQ(effect(1), Effect::in_force);
  EXPECT_EQ(database_.banned(example_environment(), example_problem()), std::vector<Config>{example_trial(128).config});
  give(VerdictKind::pin, 128);
  EXPECT_EQ(winner(), 128);
  EXPECT_TRUE(database_.banned(example_environment(), example_problem()).empty());
}

TEST_F(VerdictTest, TheNewestPinOfAProblemWins) {
  give(VerdictKind::pin, 128);
  give(VerdictKind::pin, 64);
  EXPECT_EQ(winner(), 64);
  EXPECT_EQ(effect(0), Effect::overruled);
  give(VerdictKind::none, 64);
  EXPECT_EQ(winner(), 128) << "the earlier one was not taken back";
}

TEST_F(VerdictTest, NothingWinsWhenAllAreBanned) {
  for (const std::int64_t bm : {32, 64, 128}) give(VerdictKind::ban, bm);
  EXPECT_EQ(winner(), 0);
  EXPECT_TRUE(database_.winners(example_environment()).empty());
}

TEST_F(VerdictTest, AClockThatGoesBackDoesNotReorder) {
  database_.add_verdict({example_environment(), example_problem(), example_trial(128).config, VerdictKind::pin, "r",
                         "2999-01-01T00:00:00.000Z"});
  give(VerdictKind::pin, 64);
  EXPECT_EQ(winner(), 64);
}

TEST_F(VerdictTest, APinThatCannotWinIsAnError) {
  Trial wrong = example_trial(256);
  wrong.outcome = Outcome::wrong;
  wrong.median_us = 0;
  database_.add_trial(example_environment(), wrong);
  Trial old = example_trial(512);
  old.source_hash = "old";
  database_.add_trial(example_environment(), old);
  for (const auto& [bm, part] : {std::pair(256, "ended with wrong"), std::pair(512, "no trial with the current"),
                                 std::pair(1024, "no trial with the current")}) {
    const Error error = error_of([&, bm = bm] { give(VerdictKind::pin, bm); });
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_THAT(error.what(), HasSubstr(part));
  }
  EXPECT_EQ(error_of([&] { give(VerdictKind::pin, 64, ""); }).kind(), ErrorKind::usage) << "no reason";
  EXPECT_EQ(error_of([&] { give(VerdictKind::none, 64); }).kind(), ErrorKind::usage) << "nothing to take back";
  EXPECT_TRUE(database_.verdicts().empty());
  EXPECT_EQ(winner(), 32);
}

TEST_F(VerdictTest, APinLosesItsPowerWithItsTrialAndGetsItBack) {
  give(VerdictKind::pin, 128);
  Trial fault = example_trial(128);
  fault.outcome = Outcome::fault;
  fault.median_us = 0;
  database_.add_trial(example_environment(), fault);
  EXPECT_EQ(winner(), 32);
  EXPECT_EQ(effect(0), Effect::powerless);
  database_.set_current_source("gemm", "bbbb");
  EXPECT_EQ(winner(), 0);
  EXPECT_EQ(effect(0), Effect::powerless);
  Trial again = example_trial(128, 31);
  again.source_hash = "bbbb";
  Trial faster = example_trial(32, 9);
  faster.source_hash = "bbbb";
  database_.add_trial(example_environment(), again);
  database_.add_trial(example_environment(), faster);
  EXPECT_EQ(winner(), 128);
  EXPECT_EQ(effect(0), Effect::in_force);
}

TEST_F(VerdictTest, AVerdictIsOfOneEnvironmentAndOneProblem) {
  Environment other = example_environment();
  other.driver = "hip 7.3";
  for (const std::int64_t bm : {32, 64}) {
    database_.add_trial(other, example_trial(bm, static_cast<double>(bm)));
    Trial trial = example_trial(bm, static_cast<double>(bm));
    trial.problem = example_problem(17);
    database_.add_trial(example_environment(), trial);
  }
  give(VerdictKind::pin, 64);
  EXPECT_EQ(winner(), 64);
  EXPECT_EQ(database_.winner(other, example_problem())->config.at("bm"), 32);
  EXPECT_EQ(database_.winner(example_environment(), example_problem(17))->config.at("bm"), 32);
}

TEST_F(VerdictTest, AllWhoAskForWinnersGetThePinned) {
  give(VerdictKind::pin, 128);
  const std::vector<std::byte> code(100, std::byte{7});
  EXPECT_FALSE(
      database_.put_winner_code(example_environment(), example_problem(), {example_trial(32).config, "fast", code}));
  EXPECT_TRUE(
      database_.put_winner_code(example_environment(), example_problem(), {example_trial(128).config, "pinned", code}));
  EXPECT_EQ(database_.winner_code_key(example_environment(), example_problem()), "pinned");
  EXPECT_EQ(database_.all_winners().at(0).winner.config.at("bm"), 128);
  EXPECT_EQ(database_.winners(example_environment()).at(0).config.at("bm"), 128);
  EXPECT_EQ(database_.trials({.only_winners = true}).at(0).trial.config.at("bm"), 128);
  std::ostringstream winners;
  export_json(database_, winners, true);
  EXPECT_THAT(winners.str(), HasSubstr("\"bm\":128"));
  EXPECT_THAT(winners.str(), testing::Not(HasSubstr("\"bm\":32")));
}

// Property: whatever is decided in whatever order, the view agrees with a plain reading of the rules.
TEST_F(VerdictTest, TheViewFollowsTheRules) {
  std::map<std::int64_t, VerdictKind> standing = {
      {32, VerdictKind::none}, {64, VerdictKind::none}, {128, VerdictKind::none}};  // the fastest first
  std::vector<std::int64_t> pins;                                                   // the newest last
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    const std::int64_t bm = std::next(standing.begin(), random() % 3)->first;
    const auto kind = std::array{VerdictKind::pin, VerdictKind::ban, VerdictKind::none}[random() % 3];
    if (kind == VerdictKind::none && standing[bm] == VerdictKind::none) continue;
    give(kind, bm);
    standing[bm] = kind;
    std::erase(pins, bm);
    if (kind == VerdictKind::pin) pins.push_back(bm);
    const auto fastest = std::ranges::find_if(standing, [](const auto& one) { return one.second != VerdictKind::ban; });
    const std::int64_t expected = !pins.empty() ? pins.back() : fastest == standing.end() ? 0 : fastest->first;
    ASSERT_EQ(winner(), expected) << "after " << i;
  }
}

class VerdictCommandTest : public VerdictTest {
 protected:
  std::string run(std::vector<std::string> args) const {
    args.insert(args.begin() + 1, {"--db", file_});
    testing::internal::CaptureStdout();
    try {
      EXPECT_EQ(db_command(args), 0);
    } catch (...) {
      testing::internal::GetCapturedStdout();
      throw;
    }
    return testing::internal::GetCapturedStdout();
  }
  std::vector<std::string> words(const std::string& action, const std::string& config) const {
    return {action, "--problem", example_problem().key(), "--config", config, "--reason", "it is steadier"};
  }
};

TEST_F(VerdictCommandTest, PinListAndTakeBack) {
  EXPECT_THAT(run(words("pin", "bn=128,bm=128")), HasSubstr("winner: bm=128,bn=128 (30.00 us); before: bm=32,bn=128"));
  EXPECT_EQ(winner(), 128);
  EXPECT_THAT(run({"verdicts"}), testing::AllOf(HasSubstr("in force"), HasSubstr("it is steadier")));
  EXPECT_THAT(run({"verdicts", "--json"}), HasSubstr("\"effect\": \"in force\""));
  run(words("unpin", "bm=128,bn=128"));
  EXPECT_EQ(winner(), 32);
  run(words("ban", "bm=32,bn=128"));
  EXPECT_EQ(winner(), 64);
  run(words("unban", "bm=32,bn=128"));
  EXPECT_EQ(winner(), 32);
}

TEST_F(VerdictCommandTest, SeveralEnvironmentsNeedAChoice) {
  Environment other = example_environment();
  other.driver = "hip 7.3";
  database_.add_trial(other, example_trial(128, 5));
  database_.add_trial(other, example_trial(32, 50));
  std::vector<std::string> args = words("pin", "bm=32,bn=128");
  const Error error = error_of([&] { run(args); });
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("1: AMD"), HasSubstr("2: AMD"), HasSubstr("--environment")));
  args.insert(args.end(), {"--environment", "2"});
  run(args);
  EXPECT_EQ(database_.winner(other, example_problem())->config.at("bm"), 32);
  args.back() = "3";
  EXPECT_THAT(error_of([&] { run(args); }).what(), HasSubstr("no such environment"));
}

TEST_F(VerdictCommandTest, Mistakes) {
  struct Case {
    std::vector<std::string> args;
    const char* part;
  };
  const Case cases[] = {{{"pin", "--problem", "gemm", "--config", "bm=1", "--reason", "r"}, "not a problem key"},
                        {{"pin", "--problem", "gemm/bf16/m=1", "--config", "bm", "--reason", "r"}, "name=integer"},
                        {{"pin", "--problem", "gemm/bf16/m=1", "--config", "bm=1"}, "--reason"},
                        {{"ban", "--problem", "gemm/bf16/m=1", "--config", "bm=1", "--reason", "r"}, "no problem"},
                        {words("unpin", "bm=32,bn=128"), "neither pinned nor banned"}};
  for (const Case& one : cases) {
    const Error error = error_of([&] { run(one.args); });
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_THAT(error.what(), HasSubstr(one.part));
  }
  run(words("ban", "bm=32,bn=128"));
  EXPECT_THAT(error_of([&] { run(words("unpin", "bm=32,bn=128")); }).what(), HasSubstr("under a ban"));
  EXPECT_EQ(winner(), 64);
}

TEST_F(VerdictCommandTest, AConfigurationThatTheOperatorDoesNotHaveIsRefused) {
  BuildKnowledge known;
  known.violation = [](const Environment&, const Problem&, const Config&) { return "bm is too large"; };
  std::vector<std::string> args = words("ban", "bm=64,bn=128");
  args.insert(args.begin() + 1, {"--db", file_});
  EXPECT_THAT(error_of([&] { db_command(args, known); }).what(), HasSubstr("bm is too large"));
}

}  // namespace
}  // namespace wavetune::db
