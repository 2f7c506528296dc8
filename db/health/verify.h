// What `wavetune db verify` finds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "db/health/build_knowledge.h"

namespace wavetune::db {

enum class Severity {
  corrupt,      ///< what is stored cannot be what was written
  stale,        ///< it was right once and does not count any more
  unreachable,  ///< nothing that this program does will ever ask for it
};
std::string_view to_string(Severity severity);

struct Finding {
  Severity severity = Severity::corrupt;
  std::string what;  ///< "trials", "page checksums", ...
  std::int64_t count = 0;
  std::string why;     ///< with an example where there are many
  std::string remedy;  ///< what to do about it
};

struct VerifyReport {
  std::int64_t trials = 0, pages = 0;
  bool checksums = false;  ///< the file's pages have checksums; files of earlier releases get them from gc
  std::vector<Finding> findings;

  bool corrupt() const;
};

/// Looks at every page and every row, and at what the program makes of them; changes nothing. Throws Error not_found,
/// io, and incompatible for another schema version; a file that cannot be opened as a database is a finding.
VerifyReport verify(const std::filesystem::path& path, const BuildKnowledge& known);

std::string verify_as_text(const std::filesystem::path& path, const VerifyReport& report);
std::string verify_as_json(const std::filesystem::path& path, const VerifyReport& report);

}  // namespace wavetune::db
