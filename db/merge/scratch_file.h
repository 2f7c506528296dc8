// A file that is made beside another one and goes away, also after a kill.
#pragma once

#include <filesystem>
#include <string_view>

namespace wavetune::db {

/// The name of a file that only this process uses, in the folder of `beside`; removed (with SQLite's files) when it is
/// destroyed.
class ScratchFile {
 public:
  ScratchFile(const std::filesystem::path& beside, std::string_view kind);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  /// Removes those of one kind that dead processes of this host left.
  static void remove_left_over(const std::filesystem::path& beside, std::string_view kind);

  const std::filesystem::path& path() const { return path_; }

  enum class Placed { done, taken };
  /// Gives it its final name once it is on the disk. `taken`: another file has come to have that name meanwhile, and
  /// stays. Throws Error io.
  Placed place(const std::filesystem::path& name);

 private:
  std::filesystem::path path_;
};

}  // namespace wavetune::db
