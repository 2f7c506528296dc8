// Tuned sets: exports of tuning databases (`wavetune export --format json`) that serving starts from directly.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "db/database.h"

namespace wavetune::kernels {

struct TunedSet {
  std::filesystem::path file;
  std::vector<db::Winner> winners;  ///< one a problem, the fastest
  std::vector<db::Layout> layouts;
  std::int64_t other_sources = 0;  ///< winners that were measured with other kernel sources than this executable's

  /// "h200.json: 412 winners for NVIDIA H200, 3 of them measured with other kernel sources".
  std::string description(const std::string& device) const;
};

/// Whether a file is such an export and no database.
bool is_export(const std::filesystem::path& file);

/// What `file` holds for devices like this one: equal in name, architecture and compute units. Driver, compiler and
/// kernel sources may differ, unlike with a database of one's own: the configurations are compiled here, and a valid
/// one of an earlier version is a better start than none. Throws as db::contents_from_json.
TunedSet read_tuned_set(const std::filesystem::path& file, const db::Environment& environment);

/// The set that comes with this program for such a device: the first *.json with winners for it in the folder
/// WAVETUNE_TUNED_DIR names, else in share/wavetune/tuned beside the bin/ of this executable, else in db/tuned of the
/// source tree. A file that cannot be read is named in the log and left out.
std::optional<TunedSet> find_tuned_set(const db::Environment& environment);

}  // namespace wavetune::kernels
