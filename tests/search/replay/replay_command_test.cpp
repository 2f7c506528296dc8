// `wavetune replay` as a user calls it, others' traces, and our own recordings on their way out and back.
#include "search/replay/replay_command.h"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "db/base/file.h"
#include "db/commands/commands.h"
#include "search/replay/t1_meaning.h"
#include "search/replay/traces_file.h"
#include "tests/search/replay/recordings.h"
#include "tests/search/support/scratch.h"

namespace wavetune::replay {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using Words = std::vector<std::string>;

Words small(const Words& more) {
  Words words = {"--space", golden("small_space_T1.json"), "--recording", golden("small_T4.json")};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string output_of(const Words& words) {
  testing::internal::CaptureStdout();
  const int code = replay_command(words);
  std::string output = testing::internal::GetCapturedStdout();
  EXPECT_EQ(code, 0);
  return output;
}

TEST(ReplayCommand, TableAndJson) {
  const Words run = small({"--strategy", "random", "--strategy", "annealing", "--repeats", "5"});
  EXPECT_THAT(output_of(run), AllOf(HasSubstr("small"), HasSubstr("annealing"), HasSubstr("±")));
  Words words = run;
  words.insert(words.end(), {"--json", "--traces", golden("small_traces.csv"), "--racing", "both"});
  const json report = json::parse(output_of(words));
  EXPECT_EQ(report.at("spaces").at(0).at("budget_evaluations"), 11);
  ASSERT_EQ(report.at("strategies").size(), 6U);
  const json& first = report.at("strategies").at(0);
  EXPECT_EQ(first.at("strategy"), "random");
  EXPECT_EQ(first.at("spaces").at("small").at("repeats"), 5);
  EXPECT_EQ(first.at("spaces").at("small").at("by_value").at("interval_95").size(), 2U);
  EXPECT_EQ(report.at("strategies").at(5).at("strategy"), "halved");
  EXPECT_TRUE(report.at("strategies").at(5).at("spaces").at("small").at("proposal_us").is_null());
}

TEST(ReplayCommand, RacingIsSaidToBeAnotherCostModel) {
  const std::string text = output_of(small({"--strategy", "random", "--repeats", "3", "--racing"}));
  EXPECT_THAT(text, AllOf(HasSubstr("random, racing"), HasSubstr("cannot be compared with published ones")));
}

TEST(ReplayCommand, WritesCurves) {
  const test::Scratch scratch;
  const auto file = [&scratch](const char* name) { return (scratch.directory.path() / name).string(); };
  output_of(small({"--strategy", "random", "--repeats", "3", "--csv", file("c.csv"), "--svg", file("c.svg"), "--html",
                   file("c.html")}));
  EXPECT_THAT(read_file(file("c.csv")), HasSubstr("small,random,0,"));
  EXPECT_THAT(read_file(file("c.svg")), testing::StartsWith("<svg"));
  EXPECT_THAT(read_file(file("c.html")), AllOf(HasSubstr("<svg"), HasSubstr("us a proposal")));
}

TEST(ReplayCommand, WrongOptionsAreNamed) {
  struct Case {
    Words words;
    std::string text;
  };
  const std::vector<Case> cases = {
      {{}, "needs --space and --recording"},
      {small({"--strategy", "luck"}), "no search strategy 'luck'; there are portfolio"},
      {small({"--repeats", "0"}), "--repeats 0 must be at least 1"},
      {small({"--racing=maybe"}), "--racing 'maybe' is unknown"},
      {small({"--score-by", "luck"}), "--score-by 'luck' is unknown"},
      {small({"--duration", "0.5"}), "--duration 0.5 must be at least 1"},
      {small({"--space", "x.json"}), "2 --space for 1 --recording"},
      {small({"--recording", golden("small_T4.json")}), "two recordings are called small"},
  };
  for (const Case& one : cases) {
    const Error error = error_of([&] { replay_command(one.words); });
    EXPECT_EQ(error.kind(), ErrorKind::usage) << one.text;
    EXPECT_THAT(error.what(), HasSubstr(one.text));
  }
}

TEST(TracesFile, MalformedLinesAreNamed) {
  std::vector<ScoredSpace> spaces;
  spaces.push_back(scored_space(small_recording()));
  const std::string header = "space,strategy,repeat,time_s,value_ms\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"space,strategy\n", "line 1: the first line must be space,strategy,repeat"},
      {header + "small,a,0,1\n", "line 2: there must be 5 columns"},
      {header + "small,a,0,1,2,3\n", "line 2: there must be 5 columns"},
      {header + "small,a,0,1,2\nsmall,a,0,soon,2\n", "line 3: 'soon' is no time_s"},
      {header + "small,a,0,1,fast\n", "line 2: 'fast' is no value_ms"},
      {header + "small,a,0,2,2\nsmall,a,0,1,2\n", "line 3: time goes backwards"},
      {header + "small,a,0,1,2\nsmall,a,1,1,2\nsmall,a,0,2,2\n", "line 4: repeat 0 of a on small stands in two places"},
      {header + "large,a,0,1,2\n", "no run in it is on one of the spaces given (small)"},
      {header, "no run in it"},
  };
  for (const auto& [text, words] : cases) {
    const std::string& content = text;
    EXPECT_THAT(error_of([&] { traces_from_text(content, "t.csv", spaces); }).what(),
                AllOf(testing::StartsWith("t.csv: "), HasSubstr(words)));
  }
  const TracesFile file =
      traces_from_text(header + "small,a,0,1,\r\nlarge,a,0,1,2\nsmall,a,1,1,3\nsmall,a,1,2,5", "t.csv", spaces);
  EXPECT_THAT(file.other_spaces, testing::ElementsAre("large"));
  ASSERT_EQ(file.series.size(), 1U);
  ASSERT_EQ(file.series[0].traces.size(), 2U);
  EXPECT_FALSE(file.series[0].traces[0][0].best_ms);
  EXPECT_EQ(file.series[0].traces[1][1].best_ms, 3);  // the best so far
}

/// A database with trials of the 12 configurations of tile and kind, some of which fail.
void fill(const std::filesystem::path& path) {
  auto database = db::Database::open(path, db::OpenMode::create);
  for (std::int64_t tile = 1; tile <= 4; ++tile) {
    for (std::int64_t kind = 0; kind < 3; ++kind) {
      db::Trial trial;
      trial.problem = {"spec:demo", "f32", {{"x", 64}}};
      trial.config = {{"tile", tile}, {"kind", kind}};
      trial.source_hash = "aaaa";
      trial.compile_ms = 250;
      trial.outcome = tile == 4 && kind == 2 ? db::Outcome::wrong : db::Outcome::ok;
      if (trial.outcome == db::Outcome::ok) {
        trial.median_us = static_cast<double>(100 * tile + 10 * kind);
        trial.samples_us.assign(5, trial.median_us);
      }
      database.add_trial({"CPU", "cpu", 2, "driver", "g++", "12"}, trial);
    }
  }
}

TEST(ExportedRecordings, AreReplayed) {
  const test::Scratch scratch;
  fill(scratch.database());
  const auto file = [&scratch](const char* name) { return (scratch.directory.path() / name).string(); };
  ASSERT_EQ(export_command({"--db", scratch.database().string(), "--format", "t4", "-o", file("own_T4.json.gz")}), 0);
  const Recording own = load_recording(file("own_space_T1.json"), file("own_T4.json.gz"), Coverage::complete);
  EXPECT_EQ(own.name, "own");
  EXPECT_EQ(own.space->size(), 12U);
  EXPECT_DOUBLE_EQ(statistics_of(own).optimum_ms, 0.1);
  EXPECT_EQ(statistics_of(own).ascending_ms.size(), 11U);
  EXPECT_THAT(
      output_of({"--space", file("own_space_T1.json"), "--recording", file("own_T4.json.gz"), "--repeats", "3"}),
      HasSubstr("own"));
}

TEST(ExportedRecordings, OfASpecHaveItsValues) {
  const test::Scratch scratch;
  fill(scratch.database());
  const auto file = [&scratch](const char* name) { return (scratch.directory.path() / name).string(); };
  std::ofstream(file("demo.json")) << R"json({"ConfigurationSpace": {"TuningParameters": [
    {"Name": "tile", "Type": "int", "Values": "[1, 2, 3, 4, 5]"},
    {"Name": "kind", "Type": "string", "Values": "['flat', 'deep', 'wide']"}]}})json";
  ASSERT_EQ(export_command({"--db", scratch.database().string(), "--format", "t4", "-o", file("demo_T4.json"),
                            "--space", file("demo.json")},
                           t1_meaning),
            0);
  EXPECT_FALSE(std::filesystem::exists(file("demo_space_T1.json")));
  EXPECT_EQ(db::read_t4(file("demo_T4.json")).results.at(1).configuration.at("kind"), "deep");
  const Recording own = load_recording(file("demo.json"), file("demo_T4.json"), Coverage::partial);
  EXPECT_EQ(own.space->size(), 12U);
  EXPECT_THAT(error_of([&] { load_recording(file("demo.json"), file("demo_T4.json"), Coverage::complete); }).what(),
              HasSubstr("3 of the 15 valid configurations"));
}

}  // namespace
}  // namespace wavetune::replay
