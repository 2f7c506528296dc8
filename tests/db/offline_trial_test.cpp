// Configurations compiled without a device, and the shortlist that is made of them.
#include <gmock/gmock.h>

#include <limits>

#include "db/commands/show.h"
#include "fixtures.h"

namespace wavetune::db {
namespace {

const Environment compiler_7_2{std::string(offline_device), "gfx950", 256, "none", "hiprtc", "7.2"};
const Environment node{"AMD Instinct MI355X", "gfx950", 256, "amdhip64 7.2.53211", "hiprtc", "7.2"};

OfflineTrial example(std::int64_t bm, double predicted_us) {
  OfflineTrial trial;
  trial.problem = example_problem();
  trial.config = {{"bm", bm}};
  trial.source_hash = "now";
  trial.predicted_us = predicted_us;
  trial.compile_ms = 900;
  trial.resources.vgpr = 128;
  trial.resources.lds_bytes = 65536;
  trial.resources.occupancy = 4;
  return trial;
}

std::vector<std::int64_t> tiles(const std::vector<OfflineTrial>& trials) {
  std::vector<std::int64_t> list;
  for (const OfflineTrial& trial : trials) list.push_back(trial.config.at("bm"));
  return list;
}

class OfflineTrials : public testing::Test {
 protected:
  std::vector<std::int64_t> shortlist(int most = 10, const Environment& environment = node) {
    return tiles(database.shortlist(environment, example_problem(), "now", most));
  }
  TemporaryFolder folder;
  Database database = Database::open(folder / "t.db", OpenMode::create);
};

TEST_F(OfflineTrials, ComeBackAsTheyWereStored) {
  OfflineTrial trial = example(64, 12.5);
  trial.outcome = Outcome::pruned;
  trial.error = "gemm_main spills 4 registers";
  trial.created_at = "2026-11-30T12:00:00.000Z";
  database.put_offline_trial(compiler_7_2, trial);
  const auto all = database.offline_trials(compiler_7_2);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].problem, trial.problem);
  EXPECT_EQ(all[0].config, trial.config);
  EXPECT_EQ(all[0].source_hash, "now");
  EXPECT_EQ(all[0].outcome, Outcome::pruned);
  EXPECT_EQ(all[0].predicted_us, 12.5);
  EXPECT_EQ(all[0].compile_ms, 900);
  EXPECT_EQ(all[0].resources, trial.resources);
  EXPECT_EQ(all[0].error, trial.error);
  EXPECT_EQ(all[0].created_at, trial.created_at);
  EXPECT_TRUE(database.offline_trials(node).empty()) << "offline trials are not the node's";
  EXPECT_EQ(database.count_trials(), 0) << "and no measurements";
  EXPECT_FALSE(database.winner(compiler_7_2, trial.problem)) << "nothing wins unmeasured";
}

TEST_F(OfflineTrials, AConfigurationHasOneRow) {
  database.put_offline_trial(compiler_7_2, example(64, 12.5));
  database.put_offline_trial(compiler_7_2, example(64, 11));
  const auto all = database.offline_trials_of(compiler_7_2, example_problem(), "now");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].predicted_us, 11);
}

TEST_F(OfflineTrials, ShortlistIsTheFastestThatMayRun) {
  OfflineTrial spills = example(256, 1);
  spills.outcome = Outcome::pruned;
  database.put_offline_trial(compiler_7_2, spills);
  for (const auto& [bm, us] : {std::pair{16, 30.}, {32, 10.}, {64, 20.}})
    database.put_offline_trial(compiler_7_2, example(bm, us));
  EXPECT_THAT(shortlist(), testing::ElementsAre(32, 64, 16));
  EXPECT_THAT(shortlist(2), testing::ElementsAre(32, 64));
}

TEST_F(OfflineTrials, ShortlistsOfOtherSourcesShapesAndArchitecturesDoNotCount) {
  OfflineTrial old = example(64, 10);
  old.source_hash = "before";
  database.put_offline_trial(compiler_7_2, old);
  OfflineTrial other = example(64, 10);
  other.problem = example_problem(17);
  database.put_offline_trial(compiler_7_2, other);
  Environment gfx942 = compiler_7_2;
  gfx942.arch = "gfx942";
  database.put_offline_trial(gfx942, example(64, 10));
  EXPECT_TRUE(shortlist().empty());
}

TEST_F(OfflineTrials, TheNodesOwnCompilerComesFirst) {
  Environment newer = compiler_7_2;
  newer.compiler_version = "7.9";
  database.put_offline_trial(newer, example(16, 5));
  EXPECT_THAT(shortlist(), testing::ElementsAre(16)) << "another compiler is better than nothing";
  database.put_offline_trial(compiler_7_2, example(32, 10));
  EXPECT_THAT(shortlist(), testing::ElementsAre(32));
  Environment node_7_9 = node;
  node_7_9.compiler_version = "7.9";
  EXPECT_THAT(shortlist(10, node_7_9), testing::ElementsAre(16));
}

TEST_F(OfflineTrials, APredictionIsAPositiveTime) {
  for (const double us : {0.0, -1.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
    const Error error = error_of([&] { database.put_offline_trial(compiler_7_2, example(64, us)); });
    EXPECT_EQ(error.kind(), ErrorKind::internal) << us;
  }
}

TEST_F(OfflineTrials, ShowCountsThemApart) {
  database.put_offline_trial(compiler_7_2, example(16, 5));
  OfflineTrial spills = example(256, 1);
  spills.outcome = Outcome::pruned;
  database.put_offline_trial(compiler_7_2, spills);
  const std::string text = show_as_text(database, "");
  EXPECT_THAT(text, testing::HasSubstr("compiled without a device"));
  EXPECT_THAT(text, testing::HasSubstr("ok 1, pruned 1"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("no winners")));
  EXPECT_THAT(show_as_json(database, ""), testing::HasSubstr("\"pruned\": 1"));
  EXPECT_THAT(show_as_text(database, "rmsnorm"), testing::Not(testing::HasSubstr("pruned 1")));
}

}  // namespace
}  // namespace wavetune::db
