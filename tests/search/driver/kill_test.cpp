// kill -9 at random moments: the database opens, holds every trial that was reported, and tuning goes on.
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <thread>

#include "db/database.h"
#include "runtime/process/subprocess.h"
#include "tests/search/support/scratch.h"

namespace wavetune::search {
namespace {

process::SubprocessOptions tune(const test::Scratch& scratch, int trials) {
  process::SubprocessOptions options;
  options.arguments = {WAVETUNE_BINARY,
                       "tune",
                       "--model",
                       WAVETUNE_SOURCE_DIR "/tests/golden/tiny-f32",
                       "--db",
                       scratch.database().string(),
                       "--device",
                       "cpu",
                       "--op",
                       "silu_mul,moe_combine",
                       "--trials",
                       std::to_string(trials),
                       "--budget",
                       "none",
                       "--concurrency",
                       "4",
                       "--prefill-tokens",
                       "16",
                       "--json"};
  options.environment = {{"WAVETUNE_CACHE_DIR", scratch.cache().string()}};
  options.standard_error = process::Stdio::null;
  return options;
}

/// "problem config" of every trial event in a run's output. The last line may have been cut by the kill.
std::multiset<std::string> reported(const std::string& output) {
  std::multiset<std::string> trials;
  std::size_t begin = 0;
  for (std::size_t end = output.find('\n'); end != std::string::npos; begin = end + 1, end = output.find('\n', begin)) {
    const nlohmann::json event = nlohmann::json::parse(output.substr(begin, end - begin), nullptr, false);
    if (event.is_object() && event.value("event", "") == "trial") {
      trials.insert(event.at("problem").get<std::string>() + " " + event.at("config").get<std::string>());
    }
  }
  return trials;
}

/// Each configuration once: finalists have a second trial, of which no event tells.
std::set<std::string> stored(const test::Scratch& scratch) {
  std::set<std::string> trials;
  if (!std::filesystem::exists(scratch.database())) return trials;
  const db::Database database = db::Database::open(scratch.database(), db::OpenMode::create);
  for (const db::StoredTrial& item : database.trials())
    trials.insert(item.trial.problem.key() + " " + db::to_text(item.trial.config));
  return trials;
}

TEST(KillNine, TwentyTimesLosesNothingThatWasFinished) {
  const test::Scratch scratch;
  std::mt19937 random(20261130);
  std::multiset<std::string> finished;
  constexpr int trials = 12;
  int killed = 0;
  for (int round = 0; round < 20; ++round) {
    // From "has hardly started" to "is in the middle of measuring".
    const auto patience = std::chrono::milliseconds(50 + random() % 1500);
    process::SubprocessOptions options = tune(scratch, trials);
    const process::CaptureResult result = process::run_and_capture(options, "", patience);
    if (result.timed_out)
      ++killed;
    else
      EXPECT_TRUE(result.status.ok()) << result.status.describe();
    finished.merge(reported(result.output));
    const std::set<std::string> kept = stored(scratch);
    EXPECT_TRUE(std::includes(kept.begin(), kept.end(), finished.begin(), finished.end())) << "round " << round;
    // A trial may have been stored and its event not written; that is the only difference there can be.
    EXPECT_LE(kept.size(), finished.size() + static_cast<std::size_t>(round) + 1);
    EXPECT_EQ(std::set<std::string>(finished.begin(), finished.end()).size(), finished.size())
        << "a trial was made twice";
  }
  EXPECT_GT(killed, 0);
  const process::CaptureResult last = process::run_and_capture(tune(scratch, trials), "", std::chrono::minutes(2));
  EXPECT_TRUE(last.status.ok()) << last.status.describe();
  const std::size_t all = stored(scratch).size();
  EXPECT_GT(all, 0u);
  const process::CaptureResult again = process::run_and_capture(tune(scratch, trials), "", std::chrono::minutes(2));
  EXPECT_TRUE(again.status.ok());
  EXPECT_TRUE(reported(again.output).empty()) << "the second run finds everything done";
  EXPECT_EQ(stored(scratch).size(), all);
}

TEST(ControlC, FinishesWhatIsInFlightAndSaysSo) {
  const test::Scratch scratch;
  process::SubprocessOptions options = tune(scratch, 1000);
  process::Subprocess child(options);
  std::string output;
  char buffer[4096];
  // Until the first trial, then the signal.
  while (output.find("\"trial\"") == std::string::npos) {
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
  EXPECT_NE(output.find("\"interrupted\":true"), std::string::npos) << output;
  const std::multiset<std::string> told = reported(output);
  EXPECT_EQ(stored(scratch), std::set<std::string>(told.begin(), told.end()));
}

}  // namespace
}  // namespace wavetune::search
