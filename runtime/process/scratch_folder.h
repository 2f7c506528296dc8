// Temporary space that does not stay behind, whatever ends the process.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "runtime/process/subprocess.h"

namespace wavetune::process {

/// A folder under TMPDIR (or /tmp), removed by the destructor. It is locked (flock) while its process lives: the next
/// ScratchFolder of the same prefix removes those that a killed process left, known by their lock being free.
class ScratchFolder {
 public:
  /// Throws Error io when it cannot be made.
  explicit ScratchFolder(std::string_view prefix);
  const std::filesystem::path& path() const { return directory_.path(); }

 private:
  TemporaryDirectory directory_;
  Fd lock_;
};

}  // namespace wavetune::process
