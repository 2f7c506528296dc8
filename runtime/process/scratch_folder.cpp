#include "runtime/process/scratch_folder.h"

#include <fcntl.h>
#include <sys/file.h>

#include <chrono>
#include <system_error>

namespace wavetune::process {
namespace {

namespace fs = std::filesystem;

// A folder is made and locked a moment later: younger ones are left alone.
constexpr std::chrono::seconds youngest_abandoned{10};

Fd locked(const fs::path& folder) {
  Fd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (fd && flock(fd.get(), LOCK_EX | LOCK_NB) != 0) fd.reset();
  return fd;
}

void remove_abandoned(const fs::path& beside, const std::string& prefix) {
  std::error_code error;
  for (const auto& item : fs::directory_iterator(beside.parent_path(), error)) {
    const fs::path& folder = item.path();
    if (folder == beside || !folder.filename().string().starts_with(prefix)) continue;
    std::error_code gone;
    const auto changed = fs::last_write_time(folder, gone);
    if (gone || fs::file_time_type::clock::now() - changed < youngest_abandoned) continue;
    const Fd lock = locked(folder);
    if (lock) fs::remove_all(folder, gone);
  }
}

}  // namespace

ScratchFolder::ScratchFolder(std::string_view prefix) : directory_(prefix), lock_(locked(directory_.path())) {
  remove_abandoned(directory_.path(), std::string(prefix) + "-");
}

}  // namespace wavetune::process
