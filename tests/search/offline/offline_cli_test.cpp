// `wavetune tune --offline` as a process: killed, interrupted, resumed, and asked for what does not exist.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>

#include "db/base/error.h"
#include "db/base/file.h"
#include "db/database.h"
#include "runtime/jit/target.h"
#include "runtime/process/subprocess.h"
#include "tests/search/support/scratch.h"

namespace wavetune::search {
namespace {

bool has_hiprtc() {
  try {
    (void)jit::compile_target_for_arch("gfx950");
    return true;
  } catch (const Error&) {
    return false;
  }
}

class OfflineCommand : public testing::Test {
 protected:
  void SetUp() override {
    // No weights: a folder with config.json is enough.
    std::filesystem::create_directory(model);
    std::filesystem::copy_file(WAVETUNE_SOURCE_DIR "/tests/golden/tiny-f32/config.json", model / "config.json");
  }

  process::SubprocessOptions command(const std::vector<std::string>& more) const {
    process::SubprocessOptions options;
    options.arguments = {WAVETUNE_BINARY, "tune", "--db", scratch.database().string()};
    options.arguments.insert(options.arguments.end(), more.begin(), more.end());
    options.environment = {{"WAVETUNE_CACHE_DIR", scratch.cache().string()}};
    return options;
  }
  process::SubprocessOptions offline(const std::string& budget = "none", int shortlist = 6) const {
    process::SubprocessOptions options =
        command({"--offline", "--arch", "gfx950", "--model", model.string(), "--tp", "1", "--op",
                 "silu_mul,moe_combine", "--concurrency", "4", "--prefill-tokens", "16", "--budget", budget,
                 "--shortlist", std::to_string(shortlist), "--json"});
    options.standard_error = process::Stdio::null;
    return options;
  }

  static std::multiset<std::string> reported(const std::string& output) {
    std::multiset<std::string> trials;
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
      const nlohmann::json event = nlohmann::json::parse(line, nullptr, false);
      if (event.is_object() && event.value("event", "") == "compiled")
        trials.insert(event.at("problem").get<std::string>() + " " + event.at("config").get<std::string>());
    }
    return trials;
  }
  std::multiset<std::string> stored() const {
    std::multiset<std::string> trials;
    if (!std::filesystem::exists(scratch.database())) return trials;
    const db::Database database = db::Database::open(scratch.database(), db::OpenMode::create);
    for (const db::Environment& environment : database.environments()) {
      for (const db::OfflineTrial& trial : database.offline_trials(environment))
        trials.insert(trial.problem.key() + " " + db::to_text(trial.config));
    }
    return trials;
  }

  /// Exit code and the one complaint.
  void expect_refusal(const std::vector<std::string>& more, int exit_code, const std::string& mentions) const {
    process::SubprocessOptions options = command(more);
    options.error_to_output = true;
    const process::CaptureResult result = process::run_and_capture(options, "", std::chrono::minutes(1));
    EXPECT_EQ(result.status.code, exit_code) << result.output;
    EXPECT_NE(result.output.find(mentions), std::string::npos) << "'" << mentions << "' is not in: " << result.output;
    EXPECT_FALSE(std::filesystem::exists(scratch.database())) << "nothing was written";
  }

  test::Scratch scratch;
  std::filesystem::path model = scratch.directory.path() / "model";
};

TEST_F(OfflineCommand, KilledAgainAndAgainItLosesNothingThatWasStored) {
  if (!has_hiprtc()) GTEST_SKIP() << "no hipRTC here: ./setup.sh fetches one";
  std::mt19937 random(20261130);
  std::multiset<std::string> finished;
  int killed = 0;
  for (int round = 0; round < 6; ++round) {
    const auto patience = std::chrono::milliseconds(100 + random() % 3000);
    const process::CaptureResult result = process::run_and_capture(offline(), "", patience);
    killed += result.timed_out ? 1 : 0;
    finished.merge(reported(result.output));
    const std::multiset<std::string> kept = stored();
    EXPECT_TRUE(std::includes(kept.begin(), kept.end(), finished.begin(), finished.end())) << "round " << round;
    EXPECT_EQ(std::set<std::string>(finished.begin(), finished.end()).size(), finished.size()) << "compiled twice";
  }
  EXPECT_GT(killed, 0);
  const process::CaptureResult last = process::run_and_capture(offline(), "", std::chrono::minutes(4));
  EXPECT_TRUE(last.status.ok()) << last.status.describe();
  EXPECT_NE(last.output.find("\"untouched\":0"), std::string::npos) << last.output;
  const std::size_t all = stored().size();
  EXPECT_GT(all, 10u);
  const process::CaptureResult again = process::run_and_capture(offline(), "", std::chrono::minutes(2));
  EXPECT_TRUE(reported(again.output).empty()) << "the last run left nothing to do";
  EXPECT_EQ(stored().size(), all);
}

TEST_F(OfflineCommand, CtrlCEndsWith130) {
  if (!has_hiprtc()) GTEST_SKIP() << "no hipRTC here: ./setup.sh fetches one";
  process::Subprocess child(offline("none", 64));
  std::string output;
  char buffer[4096];
  while (output.find("\"compiled\"") == std::string::npos) {
    const ssize_t got = ::read(child.output(), buffer, sizeof buffer);
    ASSERT_GT(got, 0) << output;
    output.append(buffer, static_cast<std::size_t>(got));
  }
  ::kill(child.pid(), SIGINT);
  for (ssize_t got = 1; got > 0;) {
    got = ::read(child.output(), buffer, sizeof buffer);
    if (got > 0) output.append(buffer, static_cast<std::size_t>(got));
  }
  const process::ExitStatus status = child.wait();
  EXPECT_EQ(status.code, 130) << status.describe();
  EXPECT_EQ(stored(), reported(output));
}

TEST_F(OfflineCommand, EndsWithinItsBudget) {
  if (!has_hiprtc()) GTEST_SKIP() << "no hipRTC here: ./setup.sh fetches one";
  const process::CaptureResult result = process::run_and_capture(offline("8s", 64), "", std::chrono::minutes(2));
  ASSERT_TRUE(result.status.ok()) << result.status.describe();
  const std::size_t last = result.output.rfind("{\"event\":\"end\"");
  ASSERT_NE(last, std::string::npos) << result.output;
  const nlohmann::json end = nlohmann::json::parse(result.output.substr(last));
  EXPECT_LE(end.at("seconds").get<double>(), 8.5);
}

TEST_F(OfflineCommand, SaysWhatItCannotDo) {
  const std::string folder = model.string(), empty = scratch.directory.path().string();
  expect_refusal({"--offline", "--model", folder, "--arch", "gfx1100"}, 2, "gfx1100");
  expect_refusal({"--offline", "--model", folder, "--device", "cpu"}, 2, "--device");
  expect_refusal({"--offline", "--model", folder, "--trials", "3"}, 2, "--trials");
  expect_refusal({"--offline", "--model", folder, "--shortlist", "0"}, 2, "--shortlist 0");
  expect_refusal({"--offline", "--model", folder, "--budget", "soon"}, 2, "--budget");
  expect_refusal({"--model", folder, "--arch", "gfx950", "--device", "cpu"}, 2, "--arch");
  expect_refusal({"--model", folder, "--shortlist", "3", "--device", "cpu"}, 2, "--shortlist");
  if (!has_hiprtc()) return;
  expect_refusal({"--offline", "--model", empty}, 1, "config.json");
  expect_refusal({"--offline", "--model", folder, "--tp", "3"}, 2, "--tp 3");
  expect_refusal({"--offline", "--model", folder, "--op", "convolution"}, 2, "convolution");
}

}  // namespace
}  // namespace wavetune::search
