#include "db/merge/scratch_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>

#include "db/base/error.h"
#include "db/base/host.h"

namespace wavetune::db {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

void remove_database(const fs::path& path) {
  std::error_code ignored;
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) fs::remove(path.string() + suffix, ignored);
}

/// "fleet.db.merging-node7-": a process of another host may be alive.
std::string prefix_of(const fs::path& beside, std::string_view kind) {
  return fmt::format("{}.{}-{}-", beside.filename().string(), kind, host_name());
}

void flush(const fs::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool done = file >= 0 && ::fsync(file) == 0;
  const int reason = errno;
  if (file >= 0) ::close(file);
  if (!done) fail(ErrorKind::io, "cannot write {} to the disk: {}", path.string(), std::strerror(reason));
}

}  // namespace

ScratchFile::ScratchFile(const fs::path& beside, std::string_view kind) {
  static std::atomic<int> made = 0;
  path_ = folder_of(beside) / fmt::format("{}{}-{}", prefix_of(beside, kind), ::getpid(), ++made);
}

void ScratchFile::remove_left_over(const fs::path& beside, std::string_view kind) {
  const std::string prefix = prefix_of(beside, kind);
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_of(beside), ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    pid_t process = 0;
    const char* const end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(name.data() + prefix.size(), end, process);
    if (error == std::errc{} && process > 0 && ::kill(process, 0) != 0 && errno == ESRCH) fs::remove(entry, ignored);
  }
}

ScratchFile::~ScratchFile() { remove_database(path_); }

ScratchFile::Placed ScratchFile::place(const fs::path& name) {
  flush(path_);
  // A link is never made over another file; a rename is the last resort where there are no links.
  if (::link(path_.c_str(), name.c_str()) != 0) {
    if (errno == EEXIST) return Placed::taken;
    std::error_code error;
    fs::rename(path_, name, error);
    if (error) fail(ErrorKind::io, "cannot make {}: {}", name.string(), error.message());
  }
  flush(folder_of(name));
  return Placed::done;
}

}  // namespace wavetune::db
