#include "db/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "db/base/error.h"

namespace wavetune {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

[[noreturn]] void fail_errno(const char* action, const std::filesystem::path& path) {
  const int code = errno;
  fail(code == ENOENT ? ErrorKind::not_found : ErrorKind::io, "cannot {} {}: {}", action, path.string(),
       std::strerror(code));
}

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) fail_errno("open", path);
  std::string content;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_errno("read", path);
    if (got == 0) return content;
    content.append(buffer, static_cast<size_t>(got));
  }
}

void write_file_atomic(const std::filesystem::path& path, std::string_view content) {
  std::string temporary = path.string() + ".XXXXXX";
  const FileDescriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (file.get() < 0) fail_errno("create a file beside", path);
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t put = ::write(file.get(), content.data() + done, content.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      const int code = errno;
      ::unlink(temporary.c_str());
      errno = code;
      fail_errno("write", path);
    }
    done += static_cast<size_t>(put);
  }
  if (::fchmod(file.get(), 0644) != 0 || ::fsync(file.get()) != 0 || ::rename(temporary.c_str(), path.c_str()) != 0) {
    const int code = errno;
    ::unlink(temporary.c_str());
    errno = code;
    fail_errno("finish writing", path);
  }
}

}  // namespace wavetune
