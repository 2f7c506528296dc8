// A child process that cannot outlive or outgrow its parent: what compiles and measures runs in one of these.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wavetune::process {

/// An owned file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() { reset(); }
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = other.release();
    }
    return *this;
  }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }
  void reset();

 private:
  int fd_ = -1;
};

/// What one of the child's standard streams is connected to.
enum class Stdio {
  inherit,  ///< the parent's
  pipe,     ///< a pipe whose other end the parent holds
  null,     ///< /dev/null
};

struct SubprocessOptions {
  std::vector<std::string> arguments;              ///< [0] is the program, looked up in PATH when it has no slash
  std::map<std::string, std::string> environment;  ///< added to (or replacing in) the parent's environment
  std::vector<std::string> unset_environment;      ///< removed from it
  std::filesystem::path working_directory;         ///< empty: the parent's
  Stdio standard_input = Stdio::pipe;
  Stdio standard_output = Stdio::pipe;
  Stdio standard_error = Stdio::inherit;
  bool error_to_output = false;  ///< standard error goes where standard output goes
  std::size_t memory_limit_bytes =
      0;  ///< RLIMIT_AS, inherited by its children; 0: none. Not usable with AddressSanitizer.
  std::chrono::seconds cpu_limit{0};  ///< RLIMIT_CPU of each process; 0: none
  int niceness = 0;                   ///< added to the parent's: above 0 it gets out of the way of others
  bool own_group = true;              ///< leads a process group, so that kill() reaches its children too
  bool dies_with_parent = true;  ///< SIGKILL when the thread that started it ends (PR_SET_PDEATHSIG): start it from a
                                 ///< thread that lives as long as the child should
  int death_signal = SIGKILL;    ///< sent instead of SIGKILL then: for a child that ends its own children first
  bool core_dumps = false;       ///< off: a crash is expected and must not fill the disk
};

/// How a child ended.
struct ExitStatus {
  int code = 0;    ///< exit code when `signal` is 0
  int signal = 0;  ///< signal that ended it, else 0
  bool ok() const { return code == 0 && signal == 0; }
  /// "exit code 3", "signal 11 (Segmentation fault)".
  std::string describe() const;
};

/// Starts in the constructor; the destructor kills (SIGKILL, whole group) and reaps. Movable, not thread-safe.
class Subprocess {
 public:
  /// Throws Error io naming the program and the system's reason, also when exec itself fails.
  explicit Subprocess(const SubprocessOptions& options);
  ~Subprocess();
  Subprocess(Subprocess&& other) noexcept;
  Subprocess& operator=(Subprocess&& other) noexcept;

  pid_t pid() const { return pid_; }
  /// Parent's ends of the pipes; -1 when that stream is no pipe. Still owned by this object.
  int input() const { return input_.get(); }
  int output() const { return output_.get(); }
  int error() const { return error_.get(); }
  void close_input() { input_.reset(); }

  /// True until the end has been seen by running(), wait() or wait_for().
  bool running();
  ExitStatus wait();
  /// Nothing when it still runs after `timeout`.
  std::optional<ExitStatus> wait_for(std::chrono::milliseconds timeout);
  /// Sends `signal` to the process (its group with own_group). No effect once it has been reaped.
  void kill(int signal);

 private:
  void finish() noexcept;

  pid_t pid_ = -1;
  bool own_group_ = false;
  Fd pid_fd_;  ///< becomes readable when the child ends
  Fd input_, output_, error_;
  std::optional<ExitStatus> status_;
};

struct CaptureResult {
  ExitStatus status;
  bool timed_out = false;  ///< it was killed because `timeout` passed
  std::string output;      ///< standard output, and standard error when error_to_output
};
/// Runs to the end, feeding `input` and collecting output (at most `output_limit` bytes are kept; the rest is read and
/// dropped). standard_input and standard_output are set to pipes. A timeout of 0 means none.
CaptureResult run_and_capture(SubprocessOptions options, std::string_view input = {},
                              std::chrono::milliseconds timeout = std::chrono::milliseconds{0},
                              std::size_t output_limit = std::size_t{16} << 20);

/// Path of the running executable (/proc/self/exe).
std::filesystem::path self_executable();

/// Environment that a process needs in which kernels compiled under WAVETUNE_CPU_SANITIZE=address are loaded:
/// LD_PRELOAD of the compiler's libasan (unless this executable is itself built with AddressSanitizer), ASAN_OPTIONS,
/// and WAVETUNE_CPU_SANITIZE. A report ends the process with exit code `sanitizer_exit_code`; the text is on standard
/// error. Throws Error not_found when there is no libasan.
std::map<std::string, std::string> sanitizer_environment();
inline constexpr int sanitizer_exit_code = 99;

/// A folder of its own under TMPDIR (or /tmp), removed with its content by the destructor.
class TemporaryDirectory {
 public:
  /// Throws Error io when it cannot be made.
  explicit TemporaryDirectory(std::string_view prefix = "wavetune");
  ~TemporaryDirectory();
  TemporaryDirectory(TemporaryDirectory&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace wavetune::process
