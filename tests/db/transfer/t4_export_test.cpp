// The database as T4 recordings.
#include "db/transfer/t4_export.h"

#include <gmock/gmock.h>

#include <map>

#include "db/base/file.h"
#include "db/base/gzip.h"
#include "db/commands/commands.h"
#include "tests/db/fixtures.h"

namespace wavetune::db {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class T4Export : public testing::Test {
 protected:
  T4Export() : database_(Database::open(folder_ / "tune.db", OpenMode::create)) {
    database_.set_current_source("gemm", "aaaa");
    database_.add_trial(example_environment(), trial(32, Outcome::ok, 20));
    database_.add_trial(example_environment(), trial(64, Outcome::ok, 30));
    database_.add_trial(example_environment(), trial(64, Outcome::ok, 10));  // again: this one counts
    database_.add_trial(example_environment(), trial(128, Outcome::launch_error, 0));
    Trial old = trial(256, Outcome::ok, 1);
    old.source_hash = "0000";
    database_.add_trial(example_environment(), old);
  }

  static Trial trial(std::int64_t bm, Outcome outcome, double median_us) {
    Trial trial = example_trial(bm, median_us);
    trial.source_hash = "aaaa";
    trial.outcome = outcome;
    trial.samples_us = {median_us, median_us};
    if (outcome != Outcome::ok) {
      trial.median_us = 0;
      trial.samples_us.clear();
    }
    return trial;
  }

  int run(std::vector<std::string> words) {
    words.insert(words.begin(), {"--db", (folder_ / "tune.db").string(), "--format", "t4"});
    return export_command(words);
  }

  TemporaryFolder folder_;
  Database database_;
};

TEST_F(T4Export, TrialsOfTheCurrentSourcesOncePerConfiguration) {
  const std::vector<Recorded> all = recorded(database_, "");
  ASSERT_EQ(all.size(), 1U);
  const T4File file = t4_of(all[0], {});
  ASSERT_EQ(file.results.size(), 3U);
  EXPECT_EQ(file.results[0].configuration.at("bm"), 32);
  EXPECT_EQ(file.results[1].value(), 0.01);
  EXPECT_THAT(file.results[1].times.runtimes_ms, ElementsAre(0.01, 0.01));
  EXPECT_EQ(file.results[1].times.compilation_ms, example_trial().compile_ms);
  EXPECT_EQ(file.results[2].invalidity, T4Invalidity::runtime);
  EXPECT_EQ(file.results[2].measurements.at(0).word, "launch_error");
  EXPECT_EQ(file.metadata.at("timeunit"), "miliseconds");
  EXPECT_EQ(file.metadata.at("device"), example_environment().device);
  EXPECT_EQ(file.metadata.at("problem"), example_problem().key());
}

TEST_F(T4Export, AProblemIsChosenByTheBeginningOfItsKey) {
  const std::map<std::string, std::size_t> counts = {
      {"gemm", 1}, {"gemm/bf16", 1}, {"gem", 0}, {"gemm/bf1", 0}, {"rmsnorm", 0}};
  for (const auto& [wanted, count] : counts) {
    EXPECT_EQ(recorded(database_, wanted).size(), count) << wanted;
  }
  EXPECT_EQ(recorded(database_, example_problem().key()).size(), 1U);
}

TEST_F(T4Export, TheSpaceFileHasTheValuesThatWereTried) {
  const auto t1 = t1_of(recorded(database_, "").at(0));
  bool found = false;
  for (const auto& parameter : t1.at("ConfigurationSpace").at("TuningParameters")) {
    if (parameter.at("Name") == "bm") {
      EXPECT_EQ(parameter.at("Values"), "[32,64,128]");
      found = true;
    }
  }
  EXPECT_TRUE(found);
}

TEST_F(T4Export, EveryOutcomeHasItsWord) {
  for (const Outcome outcome : all_outcomes) {
    EXPECT_EQ(t4_invalidity(outcome) == T4Invalidity::correct, outcome == Outcome::ok) << to_string(outcome);
  }
  EXPECT_EQ(t4_invalidity(Outcome::wrong), T4Invalidity::correctness);
  EXPECT_EQ(t4_invalidity(Outcome::compile_timeout), T4Invalidity::timeout);
  EXPECT_EQ(t4_invalidity(Outcome::resource_limit), T4Invalidity::constraints);
}

TEST_F(T4Export, CommandWritesAFileOrAFolder) {
  const auto file = folder_ / "a_T4.json.gz";
  EXPECT_EQ(run({"-o", file.string()}), 0);
  EXPECT_TRUE(is_gzip(read_file(file)));
  EXPECT_EQ(read_t4(file).results.size(), 3U);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "a_space_T1.json"));
  Trial other = trial(32, Outcome::ok, 20);
  other.problem = example_problem(64);
  database_.add_trial(example_environment(), other);
  const Error error = error_of([&] { run({"-o", file.string()}); });
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("2 are selected"), HasSubstr(example_problem(64).key())));
  EXPECT_EQ(run({"-o", (folder_ / "all").string() + "/"}), 0);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ / "all"), {}), 4);
  EXPECT_EQ(run({"-o", (folder_ / "one.json").string(), "--problem", example_problem(64).key()}), 0);
  EXPECT_EQ(read_t4(folder_ / "one.json").results.size(), 1U);
}

TEST_F(T4Export, CommandSaysWhatIsWrong) {
  EXPECT_THAT(error_of([&] { run({"--problem", "rope"}); }).what(), HasSubstr("no trials of problem 'rope'"));
  EXPECT_THAT(error_of([&] {
                export_command({"--db", (folder_ / "tune.db").string(), "--problem", "gemm"});
              }).what(),
              HasSubstr("belong to --format t4"));
}

}  // namespace
}  // namespace wavetune::db
