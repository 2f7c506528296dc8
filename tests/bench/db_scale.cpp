// What a large tuning database costs: its size, and the time of what tuning and serving ask of it.
//
//     db_scale [FILE] [PROBLEMS] [TRIALS OF EACH]
//
// Without arguments: 500 problems with 2000 trials each, in a temporary file that is removed. An existing FILE is
// measured as it is. Problems are products with the shapes of GLM-5.2; configurations are drawn from the real space of
// gemm on gfx950 at m = 64; one trial in 4 fails, one in 50 is a second one of its configuration.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "db/database.h"
#include "search/driver/budget.h"
#include "search/space/search_space.h"
#include "templates/registry.h"

namespace {

using namespace wavetune;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

const std::string source = "408ae677bb38450bd46b07a788c8acc8";

db::Environment environment() { return {"AMD Instinct MI355X", "gfx950", 256, "hip 7.2", "hiprtc", "7.2.26015"}; }

std::vector<db::Problem> problems(int count) {
  constexpr std::pair<int, int> shapes[] = {{6144, 2048}, {6144, 1024},  {6144, 4096}, {24576, 6144}, {12288, 6144},
                                            {2048, 6144}, {16384, 2048}, {4096, 2048}, {576, 6144},   {154880, 6144}};
  std::vector<db::Problem> all;
  for (std::int64_t m = 1; static_cast<int>(all.size()) < count; ++m) {
    for (const char* dtype : {"bf16", "fp8_block"}) {
      for (const auto& [n, k] : shapes) {
        if (static_cast<int>(all.size()) < count)
          all.push_back({"gemm", dtype, {{"batch", 1}, {"k", k}, {"m", m * 8}, {"n", n}}});
      }
    }
  }
  return all;
}

/// The spaces of the problems at m = 64: all m of a product then have configurations in common, as the good ones do.
class Spaces {
 public:
  const search::SearchSpace& of(db::Problem problem) {
    problem.dims["m"] = 64;
    auto& space = spaces_[problem.key()];
    if (!space) {
      templates::DeviceLimits limits;
      limits.arch = "gfx950";
      limits.lds_bytes = 160 * 1024;
      limits.cu_count = 256;
      space = std::make_unique<search::SearchSpace>(templates::get_operator(problem.op).space(problem, limits));
    }
    return *space;
  }

 private:
  std::map<std::string, std::unique_ptr<search::SearchSpace>> spaces_;
};

std::string time_stamp(std::int64_t milliseconds) {
  const std::int64_t s = milliseconds / 1000;
  return fmt::format("2026-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", 1 + s / 86400 / 28 % 12, 1 + s / 86400 % 28,
                     s / 3600 % 24, s / 60 % 60, s % 60, milliseconds % 1000);
}

db::Trial trial(const db::Problem& problem, db::Config config, std::mt19937_64& random, std::int64_t& clock) {
  db::Trial made;
  made.problem = problem;
  made.config = std::move(config);
  made.source_hash = source;
  made.compile_ms = std::uniform_real_distribution(200.0, 900.0)(random);
  made.created_at = time_stamp(clock += 300);
  if (random() % 4 == 0) {
    made.outcome = random() % 2 == 0 ? db::Outcome::pruned : db::Outcome::wrong;
    made.error = "spills 48 registers and has 192 bytes of scratch";
    return made;
  }
  made.median_us = std::exp(std::normal_distribution(4.0, 0.7)(random));
  const int samples = std::uniform_int_distribution(5, 9)(random);
  for (int i = 0; i < samples; ++i)
    made.samples_us.push_back(made.median_us * std::normal_distribution(1.0, 0.01)(random));
  made.max_error = std::uniform_real_distribution(0.0, 0.5)(random);
  made.resources = {96 + static_cast<int>(random() % 160), 64, 48, 65536, 0, 0, 2};
  made.state = {2350, 900 + static_cast<int>(random() % 100), 61, 0};
  return made;
}

double build(const std::filesystem::path& file, const std::vector<db::Problem>& all, int trials) {
  Spaces spaces;
  std::mt19937_64 random(1);
  std::int64_t clock = 0;
  double seconds = 0;
  auto database = db::Database::open(file, db::OpenMode::create);
  database.set_current_source("gemm", source);
  for (const db::Problem& problem : all) {
    const search::SearchSpace& space = spaces.of(problem);
    db::Contents contents;
    for (int i = 0; i < trials; ++i) {
      db::Config config = i % 50 == 49 ? contents.trials[random() % contents.trials.size()].trial.config
                                       : space.config(space.draw(random));
      contents.trials.push_back({trial(problem, std::move(config), random, clock), environment(), false});
    }
    const auto start = Clock::now();
    database.merge(contents);
    seconds += seconds_since(start);
  }
  return seconds;
}

/// Median and 99th per cent.
std::pair<double, double> quantiles(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values[values.size() / 2], values[values.size() * 99 / 100]};
}

void row(const std::string& what, const std::string& value) { fmt::print("{:<44} {:>14}\n", what, value); }

void measure(const std::filesystem::path& file) {
  const auto open_start = Clock::now();
  auto database = db::Database::open(file, db::OpenMode::create);
  row("open, ms", fmt::format("{:.2f}", seconds_since(open_start) * 1e3));
  const auto winners_start = Clock::now();
  const std::vector<db::Winner> winners = database.winners(environment());
  row(fmt::format("winners of an environment ({}), ms", winners.size()),
      fmt::format("{:.2f}", seconds_since(winners_start) * 1e3));
  std::vector<double> lookups;
  for (int round = 0; round < 20; ++round) {
    for (const db::Winner& winner : winners) {
      const auto start = Clock::now();
      const auto found = database.winner(environment(), winner.problem);
      lookups.push_back(seconds_since(start) * 1e6);
      if (!found || found->median_us != winner.median_us) throw std::runtime_error("two answers to one question");
    }
  }
  const auto [median, late] = quantiles(lookups);
  row("lookup of a winner, us: median", fmt::format("{:.1f}", median));
  row("lookup of a winner, us: 99 %", fmt::format("{:.1f}", late));
  const auto trials_start = Clock::now();
  const std::size_t of_one = database.trials_of(environment(), winners.front().problem, source).size();
  row(fmt::format("trials of one problem ({}), ms", of_one), fmt::format("{:.2f}", seconds_since(trials_start) * 1e3));
  // What 'tune' asks before its first trial: of each shape what was tried and what wins, and what a budget was spent
  // on.
  const auto state_start = Clock::now();
  std::int64_t tried = 0;
  for (const db::Winner& winner : winners) {
    tried += database.count_tried(environment(), winner.problem, source);
    database.winner(environment(), winner.problem);
  }
  row(fmt::format("start of tune: states of shapes ({} tried), s", tried),
      fmt::format("{:.2f}", seconds_since(state_start)));
  const auto times_start = Clock::now();
  std::vector<std::string> times;
  for (const db::Winner& winner : winners) {
    for (std::string& time : database.trial_times(environment(), winner.problem, source))
      times.push_back(std::move(time));
  }
  std::sort(times.begin(), times.end());
  const double spent = search::spent_seconds(times);
  row(fmt::format("start of tune: budget spent ({:.0f} s), s", spent),
      fmt::format("{:.2f}", seconds_since(times_start)));
  const auto count_start = Clock::now();
  const std::int64_t trials = database.count_trials();
  row(fmt::format("count of trials ({}), ms", trials), fmt::format("{:.2f}", seconds_since(count_start) * 1e3));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const bool given = argc > 1;
    const std::filesystem::path file =
        given ? std::filesystem::path(argv[1]) : std::filesystem::temp_directory_path() / "wavetune-db-scale.db";
    if (!given) std::filesystem::remove(file);
    fmt::print("{:<44} {:>14}\n", "tuning database", "");
    if (!std::filesystem::exists(file)) {
      const int count = argc > 2 ? std::atoi(argv[2]) : 500;
      const int trials = argc > 3 ? std::atoi(argv[3]) : 2000;
      const double seconds = build(file, problems(count), trials);
      row("merging the trials, s", fmt::format("{:.1f}", seconds));
    }
    row("file, MB", fmt::format("{:.1f}", static_cast<double>(std::filesystem::file_size(file)) / 1e6));
    measure(file);
    if (!given) std::filesystem::remove(file);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "db_scale: {}\n", error.what());
    return 1;
  }
}
