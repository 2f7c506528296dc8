#include "db/commands/export_t4.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <set>
#include <sstream>

#include "db/base/error.h"
#include "db/base/file.h"
#include "db/base/gzip.h"

namespace wavetune {
namespace {

using db::Recorded;

// So many names are shown where more recordings are selected than can be written.
constexpr std::size_t most_shown = 5;

std::string subject_of(const Recorded& recorded) {
  return fmt::format("{} on {}", recorded.problem.key(), recorded.environment.device);
}

std::string text_of(const Recorded& recorded, const db::ValueMeaning& meaning) {
  std::ostringstream out;
  db::write_t4(db::t4_of(recorded, meaning), out);
  return std::move(out).str();
}

/// "x_T4.json.gz" -> "x_space_T1.json", as the public recordings are named.
std::filesystem::path space_path(const std::filesystem::path& recording) {
  std::string name = recording.filename().string();
  for (const std::string_view ending : {".gz", ".json", "_T4"}) {
    if (name.size() > ending.size() && name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  return recording.parent_path() / (name + "_space_T1.json");
}

void write_files(const Recorded& recorded, const std::filesystem::path& path, const T4Request& request,
                 const db::ValueMeaning& meaning) {
  const std::string text = text_of(recorded, meaning);
  write_file_atomic(path, path.extension() == ".gz" ? gzip(text) : text);
  std::cerr << fmt::format("{}: {} results of {}\n", path.string(), recorded.trials.size(), subject_of(recorded));
  if (!request.space.empty()) return;
  const std::filesystem::path space = space_path(path);
  write_file_atomic(space, db::t1_of(recorded).dump(2) + "\n");
  std::cerr << fmt::format("{}: its parameters and values\n", space.string());
}

void write_folder(const std::vector<Recorded>& all, const T4Request& request, const db::ValueMeaning& meaning) {
  const std::filesystem::path folder = request.output;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail(ErrorKind::io, "export: cannot create {}: {}", folder.string(), error.message());
  std::set<std::string> taken;
  for (const Recorded& recorded : all) {
    // Environments that differ only in a driver or compiler have one name.
    std::string name = recorded.name();
    for (int i = 2; !taken.insert(name).second; ++i) name = fmt::format("{}-{}", recorded.name(), i);
    write_files(recorded, folder / (name + "_T4.json.gz"), request, meaning);
  }
}

[[noreturn]] void fail_too_many(const std::vector<Recorded>& all) {
  std::string names;
  for (std::size_t i = 0; i < std::min(all.size(), most_shown); ++i) {
    names += fmt::format("{}{}", i == 0 ? "" : "; ", subject_of(all[i]));
  }
  if (all.size() > most_shown) names += "; ...";
  fail(ErrorKind::usage,
       "export: a T4 file holds one problem on one device, but {} are selected ({}): choose with --problem, or name a "
       "folder with -o FOLDER/ for a file each",
       all.size(), names);
}

}  // namespace

void export_t4(const db::Database& database, const T4Request& request, const db::ValueMeaning& meaning) {
  const std::vector<Recorded> all = db::recorded(database, request.problem);
  if (all.empty()) {
    fail(ErrorKind::not_found, "export: {} has no trials{}; 'wavetune db show --db {}' lists what there is",
         database.path().string(), request.problem.empty() ? "" : " of problem '" + request.problem + "'",
         database.path().string());
  }
  if (request.output.ends_with('/') || std::filesystem::is_directory(request.output)) {
    write_folder(all, request, meaning);
    return;
  }
  if (all.size() > 1) fail_too_many(all);
  if (request.output != "-") {
    write_files(all.front(), request.output, request, meaning);
    return;
  }
  std::cout << text_of(all.front(), meaning) << std::flush;
  if (!std::cout) fail(ErrorKind::io, "export: cannot write to standard output");
}

}  // namespace wavetune
