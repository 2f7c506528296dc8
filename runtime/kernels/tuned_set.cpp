#include "runtime/kernels/tuned_set.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "db/base/error.h"
#include "db/base/file.h"
#include "db/transfer/json_import.h"
#include "runtime/hip/library_files.h"
#include "runtime/process/subprocess.h"
#include "templates/registry.h"

// CMakeLists.txt says where the sources of this build are.
#if !defined(WAVETUNE_TUNED_SETS)
#define WAVETUNE_TUNED_SETS ""
#endif

namespace wavetune::kernels {
namespace {

namespace fs = std::filesystem;

bool alike(const db::Environment& a, const db::Environment& b) {
  return a.device == b.device && a.arch == b.arch && a.cu_count == b.cu_count;
}

/// Folders where sets may lie, the most particular first; the first that exists counts.
fs::path folder_of_sets() {
  if (const std::string given = hip::environment_variable("WAVETUNE_TUNED_DIR"); !given.empty()) return given;
  const fs::path installed = process::self_executable().parent_path().parent_path() / "share/wavetune/tuned";
  std::error_code ignored;
  return fs::is_directory(installed, ignored) ? installed : fs::path(WAVETUNE_TUNED_SETS);
}

}  // namespace

std::string TunedSet::description(const std::string& device) const {
  std::string text = fmt::format("{}: {} winners for {}", file.string(), winners.size(), device);
  if (other_sources > 0) text += fmt::format(", {} of them measured with other kernel sources", other_sources);
  return text;
}

bool is_export(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  char first = 0;
  return in >> first && first == '{';  // a database begins with "SQLite format 3"
}

TunedSet read_tuned_set(const fs::path& file, const db::Environment& environment) {
  TunedSet set;
  set.file = file;
  db::Contents contents = db::contents_from_json(read_file(file), file.string());
  std::erase_if(contents.trials,
                [&](const db::StoredTrial& stored) { return !alike(stored.environment, environment); });
  if (contents.trials.empty()) return set;
  for (auto& [where, layout] : contents.layouts) {
    if (alike(where, environment)) set.layouts.push_back(std::move(layout));
  }
  contents.layouts.clear();
  // Which trials win is a query of the database.
  const process::TemporaryDirectory directory("wavetune-tuned");
  auto database = db::Database::open(directory.path() / "set.db", db::OpenMode::create);
  database.merge(contents);
  std::map<db::Problem, db::Winner> fastest;  // environments may differ in driver or compiler
  for (db::StoredWinner& stored : database.all_winners()) {
    const auto [place, first] = fastest.try_emplace(stored.winner.problem, stored.winner);
    if (!first && stored.winner.median_us < place->second.median_us) place->second = std::move(stored.winner);
  }
  std::map<std::string, std::string> hashes;
  for (auto& [problem, winner] : fastest) {
    const templates::Operator* const op = templates::find_operator(problem.op);
    if (op == nullptr) continue;
    const auto [hash, added] = hashes.try_emplace(problem.op);
    if (added) hash->second = templates::source_hash(*op);
    set.other_sources += winner.source_hash == hash->second ? 0 : 1;
    set.winners.push_back(std::move(winner));
  }
  return set;
}

std::optional<TunedSet> find_tuned_set(const db::Environment& environment) {
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder_of_sets(), ignored)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    try {
      TunedSet set = read_tuned_set(file, environment);
      if (!set.winners.empty()) return set;
    } catch (const Error& error) {
      spdlog::warn("the tuned set {} is left out: {}", file.string(), error.what());
    }
  }
  return std::nullopt;
}

}  // namespace wavetune::kernels
