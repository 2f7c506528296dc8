#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "db/base/error.h"
#include "runtime/process/signals.h"
#include "runtime/process/subprocess.h"

namespace wavetune::process {

CaptureResult run_and_capture(SubprocessOptions options, std::string_view input, std::chrono::milliseconds timeout,
                              std::size_t output_limit) {
  options.standard_input = input.empty() ? Stdio::null : Stdio::pipe;
  options.standard_output = Stdio::pipe;
  Subprocess child(options);
  CaptureResult result;
  const SigpipeBlocked no_sigpipe;
  if (child.input() >= 0) fcntl(child.input(), F_SETFL, O_NONBLOCK);
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  std::array<char, 65536> buffer;
  bool open = true;
  while (open) {
    int wait_ms = -1;
    if (timeout.count() > 0) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
      if (left.count() <= 0) {
        result.timed_out = true;
        child.kill(SIGKILL);
        break;
      }
      wait_ms = static_cast<int>(left.count());
    }
    std::array<pollfd, 2> ready{pollfd{child.output(), POLLIN, 0}, pollfd{child.input(), POLLOUT, 0}};
    if (poll(ready.data(), child.input() >= 0 ? 2 : 1, wait_ms) < 0 && errno != EINTR) break;
    if (child.input() >= 0 && (ready[1].revents & (POLLOUT | POLLERR)) != 0) {
      const ssize_t written = write(child.input(), input.data(), input.size());
      if (written > 0) input.remove_prefix(static_cast<size_t>(written));
      if (input.empty() || (written < 0 && errno != EAGAIN && errno != EINTR)) child.close_input();
    }
    if ((ready[0].revents & (POLLIN | POLLHUP)) != 0) {
      const ssize_t got = read(child.output(), buffer.data(), buffer.size());
      if (got > 0) {
        result.output.append(buffer.data(), std::min(static_cast<size_t>(got),
                                                     output_limit - std::min(output_limit, result.output.size())));
      } else if (got == 0 || errno != EINTR) {
        open = false;
      }
    }
  }
  result.status = child.wait();
  return result;
}

std::filesystem::path self_executable() { return std::filesystem::read_symlink("/proc/self/exe"); }

TemporaryDirectory::TemporaryDirectory(std::string_view prefix) {
  const char* folder = std::getenv("TMPDIR");
  std::string path = fmt::format("{}/{}-XXXXXX", folder != nullptr && *folder != '\0' ? folder : "/tmp", prefix);
  if (mkdtemp(path.data()) == nullptr) {
    fail(ErrorKind::io, "cannot make a temporary folder {}: {}; set TMPDIR to a folder that can be written to", path,
         std::strerror(errno));
  }
  path_ = path;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace wavetune::process
