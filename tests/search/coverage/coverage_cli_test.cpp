// `wavetune db coverage` as a process, and what --verify leaves in the database.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "db/database.h"
#include "runtime/process/subprocess.h"
#include "tests/search/support/scratch.h"

namespace wavetune::search {
namespace {

using nlohmann::json;

const std::string model = std::string(WAVETUNE_SOURCE_DIR) + "/tests/golden/tiny-f32";

class CoverageCommand : public testing::Test {
 protected:
  process::CaptureResult run(std::vector<std::string> words, bool errors = false) const {
    process::SubprocessOptions options;
    options.arguments = {WAVETUNE_BINARY};
    options.arguments.insert(options.arguments.end(), words.begin(), words.end());
    options.error_to_output = errors;
    if (!errors) options.standard_error = process::Stdio::null;
    return process::run_and_capture(options);
  }
  std::vector<std::string> coverage(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"db",       "coverage", "--db",          scratch_.database().string(),
                                      "--model",  model,      "--device",      "cpu",
                                      "--layout", "1x1",      "--max-context", "64"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  json coverage_json(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = coverage(more);
    words.emplace_back("--json");
    const process::CaptureResult result = run(words);
    EXPECT_TRUE(result.status.ok()) << result.output;
    return json::parse(result.output);
  }
  void SetUp() override {
    const process::CaptureResult tuned =
        run({"tune", "--model", model, "--db", scratch_.database().string(), "--device", "cpu", "--op", "silu_mul",
             "--trials", "3", "--budget", "none", "--concurrency", "4", "--prefill-tokens", "256"},
            true);
    ASSERT_TRUE(tuned.status.ok()) << tuned.output;
  }

  test::Scratch scratch_;
};

TEST_F(CoverageCommand, CountsByMatchAndVerifyMakesShapesExact) {
  const json before = coverage_json({"--decode-batches", "1,3"});
  EXPECT_GT(before["counts"]["exact"], 0);
  EXPECT_GT(before["counts"]["bucket"], 0) << "a batch of 3 runs with the kernels of 4";
  const int nearest = before["counts"]["nearest"];
  ASSERT_GE(nearest, 2) << "silu_mul at m = 8, 16, 32, ...";
  EXPECT_GT(before["counts"]["fallback"], 0) << "only silu_mul is tuned";

  const auto trials_before = db::Database::open(scratch_.database(), db::OpenMode::read_only).count_trials();
  const json verified = coverage_json({"--decode-batches", "1,3", "--verify", "--shapes", "2"})["verify"];
  ASSERT_EQ(verified["shapes"].size(), 2u) << verified;
  for (const json& shape : verified["shapes"]) {
    EXPECT_EQ(shape["problem"].get<std::string>().substr(0, 8), "silu_mul");
    ASSERT_GE(shape["neighbours"].size(), 1u);
    EXPECT_GT(shape["neighbours"][0]["us"], 0);
    EXPECT_GT(shape["default"]["us"], 0);
    EXPECT_GE(shape["ratio"], 1);
  }
  EXPECT_GT(db::Database::open(scratch_.database(), db::OpenMode::read_only).count_trials(), trials_before + 1);
  const json after = coverage_json({"--decode-batches", "1,3"});
  EXPECT_EQ(after["counts"]["nearest"], nearest - 2) << "they are tuned now, as far as it goes";
  EXPECT_EQ(after["counts"]["exact"], before["counts"]["exact"].get<int>() + 2);
}

TEST_F(CoverageCommand, SaysInWordsWhatToDo) {
  const process::CaptureResult text = run(coverage({"--decode-batches", "1"}));
  EXPECT_TRUE(text.status.ok());
  for (const char* part : {"operator shapes:", "decode, batch 1", "prefill, 256 tokens", "silu_mul/f32",
                           "to tune what is missing:", "wavetune tune --db ", "--verify"}) {
    EXPECT_NE(text.output.find(part), std::string::npos) << part << " in\n" << text.output;
  }
}

TEST_F(CoverageCommand, RefusesWhatItCannotLookAt) {
  struct Case {
    std::vector<std::string> words;
    int code;
    const char* message;
    const char* device = "cpu";
  };
  for (const Case& c : {Case{{"--layout", "2y1"}, 2, "TPxDP"}, Case{{"--layout", "stored"}, 1, "no layout", "cpu:2"},
                        Case{{"--layout", "4x1"}, 2, "devices"}, Case{{"--shapes", "0"}, 2, "--shapes"},
                        Case{{"--context", "0"}, 2, "--context"}, Case{{"--max-sequences", "0"}, 2, "--max-sequences"},
                        Case{{"--decode-batches", "x"}, 2, "--decode-batches"}}) {
    std::vector<std::string> words = {"db",      "coverage", "--db",     scratch_.database().string(),
                                      "--model", model,      "--device", c.device};
    words.insert(words.end(), c.words.begin(), c.words.end());
    const process::CaptureResult result = run(words, true);
    EXPECT_EQ(result.status.code, c.code) << result.output;
    EXPECT_NE(result.output.find(c.message), std::string::npos) << result.output;
  }
}

}  // namespace
}  // namespace wavetune::search
