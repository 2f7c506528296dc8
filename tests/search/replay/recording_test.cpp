// A T1 space and a T4 recording together: what fits, and what is said when it does not.
#include "search/replay/recording.h"

#include <gmock/gmock.h>

#include "tests/search/replay/recordings.h"

namespace wavetune::replay {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Recording recording_of(const std::string& t1, const db::T4File& t4, Coverage coverage = Coverage::complete) {
  return make_recording(templates::parse_t1(t1, "space.json"), t4, "some/path/conv_MI250X_T4.json.gz", coverage);
}

TEST(Recording, EveryPointHasItsRecord) {
  const Recording recording = small_recording();
  EXPECT_EQ(recording.name, "small");
  ASSERT_EQ(recording.space->size(), recording.trials.size());
  const auto point = recording.space->find(search::Config{{"tile", 4}, {"unroll", 1}, {"pad", 1}});
  ASSERT_TRUE(point);
  const RecordedTrial& trial = recording.trials[*point];
  EXPECT_NEAR(trial.value_ms.value(), 1.2, 0.06);
  EXPECT_EQ(trial.runs_ms.size(), 8U);
  double runs_s = 0;
  for (const double run_ms : trial.runs_ms) runs_s += run_ms / 1000;
  EXPECT_NEAR(trial.cost_s, trial.overhead_s + runs_s, 1e-12);
  const auto failed = recording.space->find(search::Config{{"tile", 1}, {"unroll", 1}, {"pad", 0}});
  EXPECT_EQ(recording.trials[failed.value()].invalidity, db::T4Invalidity::compile);
  EXPECT_FALSE(recording.trials[*failed].value_ms);
}

TEST(Recording, NamesComeFromTheFile) { EXPECT_EQ(recording_of(t1_text(3), t4_grid(3)).name, "conv_MI250X"); }

TEST(Recording, ParametersOfEveryType) {
  const std::string t1 = R"json({"ConfigurationSpace": {"TuningParameters": [
    {"Name": "kind", "Type": "string", "Values": "['flat', 'deep']"},
    {"Name": "part", "Type": "float", "Values": "[0.25, 1.0]"},
    {"Name": "pad", "Type": "bool", "Values": "[False, True]"}]}})json";
  db::T4File file;
  double value = 1;
  for (const char* kind : {"flat", "deep"}) {
    for (const double part : {0.25, 1.0}) {
      for (const bool pad : {false, true}) {
        db::T4Result result;
        result.configuration = {{"kind", kind}, {"part", part}, {"pad", pad}};
        result.times.runtimes_ms = {value++};
        file.results.push_back(result);
      }
    }
  }
  file.results[2].configuration["part"] = 1;  // as a writer that drops ".0" has it
  const Recording recording = recording_of(t1, file);
  ASSERT_EQ(recording.trials.size(), 8U);
  file.results[0].configuration["kind"] = "steep";
  EXPECT_THAT(error_of([&] { recording_of(t1, file); }).what(), HasSubstr("1 of 8 results are not in the space"));
}

TEST(Recording, FilesThatDoNotFitAreRefused) {
  db::T4File unknown = t4_grid(3);
  unknown.results[4].configuration["z"] = 1;
  db::T4File missing = t4_grid(3);
  missing.results[2].configuration.erase("y");
  db::T4File twice = t4_grid(3);
  twice.results.push_back(twice.results[1]);
  db::T4File gap = t4_grid(3);
  gap.results.erase(gap.results.begin());
  struct Case {
    std::string t1;
    db::T4File t4;
    std::vector<std::string> words;
  };
  const std::string condition = R"([{"Expression": "x < 3 or y == 0", "Parameters": ["x", "y"]}])";
  const std::vector<Case> cases = {
      {t1_text(3), unknown, {"results[4].configuration: 'z' is no parameter of space.json"}},
      {t1_text(3), missing, {"results[2].configuration: parameter 'y' of space.json is missing"}},
      {t1_text(3), twice, {"results[1] and results[6] are of the same configuration", R"({"x":1,"y":1})"}},
      {t1_text(3), gap, {"1 of the 6 valid configurations of space.json have no result", "x=1,y=0", "--partial"}},
      {t1_text(2), t4_grid(3), {"2 of 6 results are not in the space of space.json", "results[4]", R"({"x":3,"y":0})"}},
      {t1_text(3, condition), t4_grid(3), {"1 of 6 results are not in the space of space.json, results[5]"}},
      {t1_text(3), db::T4File(), {"there are no results in it"}},
  };
  for (const Case& one : cases) {
    const Error error = error_of([&] { recording_of(one.t1, one.t4); });
    EXPECT_EQ(error.kind(), ErrorKind::bad_data);
    EXPECT_THAT(error.what(), HasSubstr("conv_MI250X_T4.json.gz"));
    for (const std::string& word : one.words) EXPECT_THAT(error.what(), HasSubstr(word));
  }
}

TEST(Recording, ADivisionByZeroInAConditionIsNamed) {
  const std::string condition = R"([{"Expression": "x // y > 0", "Parameters": ["x", "y"]}])";
  const Error error = error_of([&] { recording_of(t1_text(3, condition), t4_grid(3)); });
  EXPECT_EQ(error.kind(), ErrorKind::bad_data);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("space.json"), HasSubstr("zero"), HasSubstr("y=0")));
}

TEST(Recording, APartialRecordingIsTheSpaceThatItHolds) {
  db::T4File some = t4_grid(40);
  some.results.erase(some.results.begin() + 10, some.results.begin() + 50);
  const Recording recording = recording_of(t1_text(40), some, Coverage::partial);
  EXPECT_EQ(recording.space->size(), 40U);
  EXPECT_FALSE(recording.space->find(search::Config{{"x", 6}, {"y", 0}}));
  const auto point = recording.space->find(search::Config{{"x", 30}, {"y", 1}});
  EXPECT_EQ(recording.trials[point.value()].value_ms, 32);
  // Records outside the space are an error all the same.
  EXPECT_THAT(error_of([&] { recording_of(t1_text(39), some, Coverage::partial); }).what(),
              HasSubstr("2 of 40 results are not in the space"));
}

}  // namespace
}  // namespace wavetune::replay
