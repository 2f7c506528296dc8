#include "tests/cli/run_binary.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "db/base/file.h"

namespace wavetune::test {
namespace {

/// A file that the child writes to: simpler than two pipes that must be drained at once.
class CaptureFile {
 public:
  CaptureFile() {
    path_ = (std::filesystem::temp_directory_path() / "wavetune_capture.XXXXXX").string();
    fd_ = ::mkostemp(path_.data(), O_CLOEXEC);
  }
  ~CaptureFile() {
    ::close(fd_);
    std::filesystem::remove(path_);
  }
  CaptureFile(const CaptureFile&) = delete;
  CaptureFile& operator=(const CaptureFile&) = delete;
  int fd() const { return fd_; }
  std::string text() const { return read_file(path_); }

 private:
  std::string path_;
  int fd_ = -1;
};

}  // namespace

RunResult run_wavetune(const std::vector<std::string>& arguments) {
  std::vector<char*> argv{const_cast<char*>(WAVETUNE_BINARY)};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const CaptureFile out;
  const CaptureFile err;
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(out.fd(), STDOUT_FILENO);
    ::dup2(err.fd(), STDERR_FILENO);
    ::execv(WAVETUNE_BINARY, argv.data());
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, out.text(), err.text()};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace wavetune::test
