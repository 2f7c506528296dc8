// How long merging takes: databases of as many trials each, made for the purpose, into a new one and into one that has
// them all already.
//
//   db_merge [--databases 100] [--trials 10000] [--shared 0.1] [--folder DIR]
//
// --shared: the part of each database's trials that the one before it has, too.
#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <iostream>
#include <random>

#include "db/database.h"
#include "db/merge/merge.h"

namespace {

using namespace wavetune;
namespace fs = std::filesystem;
namespace po = boost::program_options;

/// Trial `number` of the fleet: the same in each database that has it. Shapes, configurations and texts are as long as
/// those of a real tune.
db::Trial trial_of(std::int64_t number) {
  std::mt19937 random(static_cast<unsigned>(number));
  const auto below = [&random](int limit) { return std::uniform_int_distribution(0, limit - 1)(random); };
  db::Trial trial;
  trial.problem = {
      "gemm", "fp8_block", {{"batch", 1}, {"m", 1 << (number % 13)}, {"n", 256 * (1 + number / 13 % 25)}, {"k", 6144}}};
  trial.config = {{"bk", 16 << below(4)},     {"bm", 16 << below(4)}, {"bn", 16 << below(4)},
                  {"split_k", 1 << below(4)}, {"stages", below(4)},   {"waves_m", 1 << below(2)},
                  {"waves_n", 1 << below(3)}};
  trial.source_hash = "0123456789abcdef";
  trial.median_us = 10 + 0.001 * below(100'000);
  for (int i = 0; i < 15; ++i) trial.samples_us.push_back(trial.median_us + 0.001 * below(500));
  if (number % 10 == 0) {
    trial.outcome = db::Outcome::wrong;
    trial.median_us = 0;
    trial.samples_us.clear();
    trial.error = "element 17 of 65536 is 0.125, should be 0.5";
  }
  trial.compile_ms = 800;
  trial.resources.vgpr = 128;
  trial.resources.lds_bytes = 65536;
  trial.state.clock_mhz = 2400;
  const std::int64_t second = number % 60, minute = number / 60 % 60, hour = number / 3600 % 24;
  trial.created_at = fmt::format("2026-08-{:02}T{:02}:{:02}:{:02}.{:03}Z", 1 + number / 86400 % 28, hour, minute,
                                 second, number % 1000);
  trial.machine = fmt::format("node{}:0000:c1:00.0", number / 10'000);
  return trial;
}

fs::path make_database(const fs::path& folder, std::int64_t index, std::int64_t trials, double shared) {
  const db::Environment environment{"AMD Instinct MI355X", "gfx950", 256, "amdhip64 7.2.53211", "hiprtc", "7.2.53211"};
  const auto step = static_cast<std::int64_t>(static_cast<double>(trials) * (1 - shared));
  db::Contents contents;
  for (std::int64_t i = 0; i < trials; ++i) contents.trials.push_back({trial_of(index * step + i), environment});
  fs::path path = folder / fmt::format("node{}.db", index);
  db::Database database = db::Database::open(path, db::OpenMode::create);
  database.set_current_source("gemm", "0123456789abcdef");
  database.merge(contents);
  return path;
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

int main(int argc, char** argv) {
  std::int64_t databases = 0, trials = 0;
  double shared = 0;
  std::string folder_name;
  po::options_description options("Options");
  options.add_options()("help,h", "show this help")("databases", po::value(&databases)->default_value(100))(
      "trials", po::value(&trials)->default_value(10'000))("shared", po::value(&shared)->default_value(0.1))(
      "folder", po::value(&folder_name)->default_value(fs::temp_directory_path().string()));
  po::variables_map values;
  po::store(po::parse_command_line(argc, argv, options), values);
  if (values.count("help") != 0) {
    std::cout << options;
    return 0;
  }
  po::notify(values);
  const fs::path folder = fs::path(folder_name) / "wavetune-db-merge";
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::vector<fs::path> nodes;
  for (std::int64_t i = 0; i < databases; ++i) nodes.push_back(make_database(folder, i, trials, shared));

  const fs::path output = folder / "fleet.db";
  fmt::print("{:<28} {:>9} {:>9} {:>9} {:>8} {:>9} {:>8}\n", "merge", "databases", "trials", "added", "s", "trials/s",
             "file MB");
  const auto report = [&](const char* name, const std::vector<fs::path>& inputs) {
    db::MergeReport merged;
    const double seconds = seconds_of([&] { merged = db::merge_databases(inputs, output); });
    const db::RowCounts& rows = merged.tables["measurements"];
    const auto all = rows.added + rows.known;
    fmt::print("{:<28} {:>9} {:>9} {:>9} {:>8.2f} {:>9.0f} {:>8.1f}\n", name, inputs.size(), all, rows.added, seconds,
               static_cast<double>(all) / seconds, static_cast<double>(fs::file_size(output)) / 1e6);
  };
  report("into a new database", nodes);
  report("again: all of it is there", nodes);
  fs::remove(output);
  report("one alone, new", {nodes.front()});
  report("one more into it", {nodes.back()});
  fs::remove_all(folder);
  return 0;
}
