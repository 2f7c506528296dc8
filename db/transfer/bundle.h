// A frozen bundle: what serving needs of a database, code objects included, as one file that is never written again.
//
//     wavetune-bundle 1                     format and version
//     0123456789abcdef0123456789abcdef      content_hash of all bytes that follow this line
//     <gzip>                                of: length of the manifest in bytes, newline, manifest, code objects
//
// The manifest is JSON: environment, winners, layouts, and name and size of each code object in the order in which they
// follow. It holds no time of writing: the same content gives the same bytes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "db/layout.h"
#include "db/trial.h"

namespace wavetune::db {

inline constexpr int bundle_format_version = 1;

struct Bundle {
  Environment environment;
  std::vector<Winner> winners;  ///< one a problem
  std::vector<Layout> layouts;
  std::map<std::string, std::vector<std::byte>> code;  ///< by what names a program, whoever compiles it
  std::string hash;                                    ///< of the file it was read from
};

/// The file's bytes. Winners and layouts may come in any order.
std::string pack_bundle(Bundle bundle);
/// The hash that packed bytes carry.
std::string bundle_hash(std::string_view packed);

/// Whether a file begins as a bundle does.
bool is_bundle(const std::filesystem::path& file);
/// Checks the hash before anything else is looked at. Throws Error not_found, io, bad_data (cut off, changed: both
/// hashes; a member missing or wrong), incompatible (another version).
Bundle read_bundle(const std::filesystem::path& file);

}  // namespace wavetune::db
