// Kernels from outside, tuned as built-in operators are: verified, stored, resumed, refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "db/base/file.h"
#include "db/database.h"
#include "templates/t1/spec_operator.h"
#include "tests/search/spec/run_tune.h"

namespace wavetune::search {
namespace {

using test::SpecFolder;
using test::TuneRun;
using testing::HasSubstr;
using testing::Not;

std::vector<db::Trial> stored(const SpecFolder& folder) {
  std::vector<db::Trial> trials;
  const db::Database database = db::Database::open(folder.database(), db::OpenMode::create);
  for (const db::StoredTrial& item : database.trials()) {
    // Finalists were tried again.
    const auto same = std::ranges::find_if(trials, [&](const db::Trial& trial) {
      return trial.config == item.trial.config && trial.source_hash == item.trial.source_hash;
    });
    if (same == trials.end())
      trials.push_back(item.trial);
    else
      *same = item.trial;
  }
  return trials;
}

TEST(TuneSpec, TunesVerifiesStoresAndResumes) {
  const SpecFolder folder;
  const TuneRun first = folder.tune("matmul.json", {"--trials", "6"});
  ASSERT_EQ(first.exit_code, 0) << first.output;
  EXPECT_THAT(first.output, HasSubstr("spec:matmul/f32/x=300,y=200: 6 configurations tried, 6 ok"));
  EXPECT_THAT(first.output, HasSubstr("roofline"));
  const std::vector<db::Trial> trials = stored(folder);
  ASSERT_EQ(trials.size(), 6u);
  const templates::SpecOperator op(folder.path("matmul.json"));
  EXPECT_EQ(trials.front().problem, op.problem());
  EXPECT_EQ(trials.front().config, op.default_config(op.problem(), {}));
  for (const db::Trial& trial : trials) {
    EXPECT_EQ(trial.outcome, db::Outcome::ok) << trial.error;
    EXPECT_GT(trial.median_us, 0);
    EXPECT_EQ(trial.source_hash, templates::source_hash(op));
  }

  const TuneRun again = folder.tune("matmul.json", {"--trials", "6"});
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_THAT(again.output, HasSubstr("6 trials of earlier runs count"));
  EXPECT_THAT(again.output, HasSubstr("nothing to do"));
  const TuneRun more = folder.tune("matmul.json", {"--trials", "9"});
  EXPECT_EQ(more.exit_code, 0);
  std::multiset<std::string> configs;
  for (const db::Trial& trial : stored(folder)) configs.insert(db::to_text(trial.config));
  EXPECT_EQ(configs.size(), 9u);
  EXPECT_EQ(std::set<std::string>(configs.begin(), configs.end()).size(), 9u) << "measured twice";
}

TEST(TuneSpec, GoesOnAfterItWasKilled) {
  const SpecFolder folder;
  const TuneRun killed = folder.run({"tune", "--spec", folder.path("matmul.json").string(), "--db",
                                     folder.database().string(), "--device", "cpu", "--budget", "none"},
                                    std::chrono::seconds(6));
  ASSERT_EQ(killed.exit_code, -1) << killed.output;
  const std::size_t kept = std::filesystem::exists(folder.database()) ? stored(folder).size() : 0;
  const int cap = static_cast<int>(kept) + 2;
  const TuneRun rest = folder.tune("matmul.json", {"--trials", std::to_string(cap)});
  EXPECT_EQ(rest.exit_code, 0) << rest.output;
  EXPECT_THAT(rest.output, HasSubstr(std::to_string(kept) + " trials of earlier runs count"));
  std::set<std::string> configs;
  for (const db::Trial& trial : stored(folder)) configs.insert(db::to_text(trial.config));
  EXPECT_EQ(configs.size(), static_cast<std::size_t>(cap));
}

// half, float4, dynamic and static LDS, shuffles, atomics, includes, C++ linkage in a namespace, OpenCL sizes, scalars
// of several widths; the reference is the default configuration.
TEST(TuneSpec, TakesWhatPlainKernelsUse) {
  const SpecFolder folder;
  const TuneRun run = folder.tune("features.json");
  ASSERT_EQ(run.exit_code, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("spec:features_of_HIP/f32/x=5000: 12 configurations tried, 12 ok"));
  EXPECT_THAT(run.output, HasSubstr("mode_offset=0.5"));
  EXPECT_THAT(run.output, HasSubstr("CompilerOptions[0]: '-std=c++11' is not passed on"));
}

TEST(TuneSpec, RefusesEverythingWhenTheReferenceIsWrong) {
  const SpecFolder folder;
  folder.edit("matmul_reference.hip", "sum +=", "sum -=");
  const TuneRun run = folder.tune("matmul.json", {"--trials", "4"});
  EXPECT_EQ(run.exit_code, 1) << run.output;
  EXPECT_THAT(run.output, HasSubstr("no configuration is usable: 4 tried, 4 wrong"));
  EXPECT_THAT(run.output, HasSubstr("check the reference, the kernel 'matmul_reference' of matmul_reference.hip"));
  for (const db::Trial& trial : stored(folder)) EXPECT_EQ(trial.outcome, db::Outcome::wrong);

  // Another reference is another problem: nothing of what was refused stays so.
  folder.edit("matmul_reference.hip", "sum -=", "sum +=");
  EXPECT_EQ(folder.tune("matmul.json", {"--trials", "1"}).exit_code, 0);
}

TEST(TuneSpec, FindsTheConfigurationThatIsWrong) {
  const SpecFolder folder;
  folder.edit("matmul.hip", "if (row < m && col < n) c[row * n + col] = sum[r];",
              "if (row < m && col < n) c[row * n + col] = sum[r] + (block_size_y == 4 && row == 150 ? 1 : 0);");
  const TuneRun run = folder.tune("matmul.json", {"--trials", "16"});
  EXPECT_EQ(run.exit_code, 0) << run.output;
  int wrong = 0;
  for (const db::Trial& trial : stored(folder)) {
    EXPECT_EQ(trial.outcome, trial.config.at("block_size_y") == 4 ? db::Outcome::wrong : db::Outcome::ok);
    wrong += trial.outcome == db::Outcome::wrong ? 1 : 0;
  }
  EXPECT_GT(wrong, 0);
}

TEST(TuneSpec, GoesOnWhenAConfigurationCannotBeLaunched) {
  const SpecFolder folder;
  folder.edit("features.json", "\"8 * block_size_x\"", "\"8 * block_size_x * (2 - layout)\"");
  const TuneRun run = folder.tune("features.json");
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("12 configurations tried, 6 ok, 6 launch_error"));
  EXPECT_THAT(run.output, HasSubstr("GlobalSize.X: '8 * block_size_x * (2 - layout)' is 0; it must be 1 to"));
}

struct BadReference {
  const char* name;
  const char* from;
  const char* to;
  const char* says;
};

class ReferenceOf : public testing::TestWithParam<BadReference> {};

TEST_P(ReferenceOf, IsRefusedWithItsReason) {
  const SpecFolder folder;
  folder.edit("matmul_reference.hip", GetParam().from, GetParam().to);
  const TuneRun run = folder.tune("matmul.json", {"--trials", "2"});
  EXPECT_EQ(run.exit_code, 1) << run.output;
  EXPECT_THAT(run.output, HasSubstr(GetParam().says));
  EXPECT_THAT(run.output, Not(HasSubstr("best  ")));
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, ReferenceOf,
    testing::Values(BadReference{"leaves_a_hole", "if (col >= n)", "if (col >= n || row == 3)",
                                 "it does not write c[900]"},
                    BadReference{"makes_nan", "static_cast<float>(sum)", "sqrtf(-1.0f)", "c[0] is NaN"},
                    BadReference{"writes_outside", "if (col >= n) return;", "c[m * n + 1] = 0; if (col >= n) return;",
                                 "it wrote outside operand 'c'"},
                    BadReference{"does_not_compile", "double sum", "dubble sum", "matmul_reference.hip:5:"},
                    BadReference{"takes_other_arguments", "int m, int n", "float m, int n",
                                 "'m' is of type int32, and the kernel's parameter is 'float m'"}),
    [](const auto& reference) { return std::string(reference.param.name); });

TEST(TuneSpec, ComparesWithAFileOfTheExpectedOutput) {
  const SpecFolder folder;
  const std::string reference = R"("Reference": {
      "KernelFile": "matmul_reference.hip",
      "KernelName": "matmul_reference",
      "LocalSize": {"X": 64},
      "GridDivX": [64]
    })";
  folder.edit("matmul.json", reference, R"("Reference": {"Outputs": {"c": "c.bin"}})");
  folder.edit("matmul.json", R"("Size": "ProblemSize[1] * 256", "FillType": "Random", "FillValue": [-1, 1])",
              R"("Size": "ProblemSize[1] * 256", "FillValue": 0.5)");
  folder.edit("matmul.json", R"("Size": "256 * ProblemSize[0]", "FillType": "Random", "FillValue": [-1, 1])",
              R"("Size": "256 * ProblemSize[0]", "FillValue": 0.25)");
  std::string bytes;
  const float expected = 256 * 0.5f * 0.25f;
  for (int i = 0; i < 300 * 200; ++i) bytes.append(reinterpret_cast<const char*>(&expected), sizeof expected);
  write_file_atomic(folder.path("c.bin"), bytes);
  EXPECT_EQ(folder.tune("matmul.json", {"--trials", "2"}).exit_code, 0);

  bytes[4000 * sizeof(float)] = '\x70';  // a low bit of the mantissa: within the tolerance
  write_file_atomic(folder.path("c.bin"), bytes);
  EXPECT_EQ(folder.tune("matmul.json", {"--trials", "2"}).exit_code, 0);
  bytes[4000 * sizeof(float) + 3] = '\x40';  // the exponent
  write_file_atomic(folder.path("c.bin"), bytes);
  const TuneRun run = folder.tune("matmul.json", {"--trials", "2"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.output, HasSubstr("c[4000] is 32 instead of"));

  write_file_atomic(folder.path("c.bin"), bytes.substr(4));
  EXPECT_THAT(folder.tune("matmul.json", {"--trials", "2"}).output,
              HasSubstr("c.bin has 239996 bytes; the argument 'c' has 240000 (60000 elements of float)"));
}

TEST(TuneSpec, ChangedSourcesAreMeasuredAnew) {
  const SpecFolder folder;
  ASSERT_EQ(folder.tune("features.json", {"--trials", "1"}).exit_code, 0);
  folder.edit("features_scale.h", "value * scale", "1.0f * value * scale");
  const TuneRun changed = folder.tune("features.json", {"--trials", "1"});
  EXPECT_THAT(changed.output, HasSubstr(" 0 trials of earlier runs count"));
  // White space in the T1 file changes nothing.
  folder.edit("features.json", "\"Stream\": null,", "\"Stream\":   null,");
  EXPECT_THAT(folder.tune("features.json", {"--trials", "1"}).output, HasSubstr(" 1 trials of earlier runs count"));
}

TEST(TuneSpec, TakesTheBudgetOfTheFile) {
  const SpecFolder folder;
  folder.edit("features.json", R"("General")",
              R"("Budget": [{"Type": "ConfigurationCount", "BudgetValue": 2}], "General")");
  EXPECT_THAT(folder.tune("features.json").output, HasSubstr("2 configurations tried"));
}

TEST(TuneSpec, ShowsAndExportsAsEverythingElse) {
  const SpecFolder folder;
  ASSERT_EQ(folder.tune("features.json", {"--trials", "2"}).exit_code, 0);
  EXPECT_THAT(folder.run({"db", "show", "--db", folder.database().string()}).output,
              HasSubstr("spec:features_of_HIP/f32/x=5000"));
  EXPECT_THAT(folder.run({"export", "--db", folder.database().string(), "--format", "csv"}).output,
              HasSubstr("spec:features_of_HIP"));
}

TEST(TuneSpec, IsReplayedFromItsOwnRecording) {
  const SpecFolder folder;
  ASSERT_EQ(folder.tune("features.json", {"--html", folder.path("page.html").string()}).exit_code, 0);
  EXPECT_THAT(read_file(folder.path("page.html")), HasSubstr("spec:features_of_HIP"));
  const std::string space = folder.path("features.json").string();
  const std::string recording = folder.path("features_T4.json.gz").string();
  const TuneRun exported = folder.run(
      {"export", "--db", folder.database().string(), "--format", "t4", "--space", space, "--output", recording});
  EXPECT_EQ(exported.exit_code, 0) << exported.output;
  const TuneRun replayed = folder.run({"replay", "--space", space, "--recording", recording, "--repeats", "3"});
  EXPECT_EQ(replayed.exit_code, 0) << replayed.output;
  EXPECT_THAT(replayed.output, HasSubstr(" 12 "));
}

TEST(TuneSpec, SaysWhatDoesNotGoTogether) {
  const SpecFolder folder;
  EXPECT_THAT(folder.tune("matmul.json", {"--model", "glm-5.2"}).output, HasSubstr("either --model"));
  EXPECT_THAT(folder.tune("matmul.json", {"--tp", "4"}).output, HasSubstr("--tp belongs to --model"));
  EXPECT_THAT(folder.run({"tune", "--spec", "x.json", "--db", "x.db", "--offline"}).output,
              HasSubstr("goes without --spec"));
  EXPECT_THAT(folder.tune("absent.json").output, HasSubstr("absent.json"));
}

}  // namespace
}  // namespace wavetune::search
