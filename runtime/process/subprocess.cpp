#include "runtime/process/subprocess.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "db/base/error.h"

extern "C" char** environ;

namespace wavetune::process {
namespace {

struct Pipe {
  Fd read, write;
};

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail(ErrorKind::io, "cannot make a pipe: {}", std::strerror(errno));
  return {Fd(ends[0]), Fd(ends[1])};
}

/// The child's end, and what the parent keeps.
struct Connection {
  Fd child, parent;
};

Connection connect(Stdio kind, bool child_reads) {
  if (kind == Stdio::inherit) return {};
  if (kind == Stdio::null) return {Fd(open("/dev/null", O_RDWR | O_CLOEXEC)), Fd()};
  Pipe pipe = make_pipe();
  return child_reads ? Connection{std::move(pipe.read), std::move(pipe.write)}
                     : Connection{std::move(pipe.write), std::move(pipe.read)};
}

std::vector<std::string> child_environment(const SubprocessOptions& options) {
  std::map<std::string, std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const size_t equals = text.find('=');
    if (equals != std::string_view::npos) merged.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  for (const std::string& name : options.unset_environment) merged.erase(name);
  for (const auto& [name, value] : options.environment) merged[name] = value;
  std::vector<std::string> lines;
  for (const auto& [name, value] : merged) lines.push_back(name + "=" + value);
  return lines;
}

std::vector<char*> pointers(std::vector<std::string>& lines) {
  std::vector<char*> result;
  for (std::string& line : lines) result.push_back(line.data());
  result.push_back(nullptr);
  return result;
}

/// Everything that the child needs between fork and exec, made before: only async-signal-safe calls are allowed there.
struct ChildPlan {
  const SubprocessOptions* options;
  std::vector<char*> arguments, environment;
  std::array<int, 3> streams{-1, -1, -1};
  int failure_fd = -1;
  pid_t parent = 0;
};

void limit(int resource, std::size_t value) {
  rlimit both{value, value};
  setrlimit(static_cast<__rlimit_resource>(resource), &both);
}

[[noreturn]] void run_child(const ChildPlan& plan) {
  const SubprocessOptions& options = *plan.options;
  const auto give_up = [&] {
    const int reason = errno;
    (void)!write(plan.failure_fd, &reason, sizeof reason);
    _exit(127);
  };
  if (options.dies_with_parent) {
    prctl(PR_SET_PDEATHSIG, options.death_signal);
    if (getppid() != plan.parent) _exit(127);  // it died before the line above
  }
  if (options.own_group) setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  for (int target = 0; target < 3; ++target) {
    const int fd = plan.streams[static_cast<size_t>(target)];
    if (fd >= 0 && dup2(fd, target) < 0) give_up();
  }
  if (options.error_to_output && dup2(1, 2) < 0) give_up();
  if (!options.core_dumps) limit(RLIMIT_CORE, 0);
  if (options.memory_limit_bytes != 0) limit(RLIMIT_AS, options.memory_limit_bytes);
  if (options.niceness != 0) (void)::nice(options.niceness);
  if (options.cpu_limit.count() != 0) limit(RLIMIT_CPU, static_cast<std::size_t>(options.cpu_limit.count()));
  if (!options.working_directory.empty() && chdir(options.working_directory.c_str()) != 0) give_up();
  execvpe(plan.arguments[0], plan.arguments.data(), plan.environment.data());
  give_up();
  _exit(127);
}

ExitStatus status_from_wait(int status) {
  if (WIFSIGNALED(status)) return {0, WTERMSIG(status)};
  return {WEXITSTATUS(status), 0};
}

}  // namespace

void Fd::reset() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

std::string ExitStatus::describe() const {
  if (signal != 0) return fmt::format("signal {} ({})", signal, strsignal(signal));
  return fmt::format("exit code {}", code);
}

Subprocess::Subprocess(const SubprocessOptions& options) : own_group_(options.own_group) {
  if (options.arguments.empty()) fail(ErrorKind::internal, "a subprocess needs a program to run");
  Connection in = connect(options.standard_input, true);
  Connection out = connect(options.standard_output, false);
  Connection err = options.error_to_output ? Connection{} : connect(options.standard_error, false);
  Pipe failure = make_pipe();

  std::vector<std::string> arguments = options.arguments;
  std::vector<std::string> environment = child_environment(options);
  ChildPlan plan{&options,
                 pointers(arguments),
                 pointers(environment),
                 {in.child.get(), out.child.get(), err.child.get()},
                 failure.write.get(),
                 getpid()};
  pid_ = fork();
  if (pid_ < 0) fail(ErrorKind::io, "cannot start '{}': {}", options.arguments[0], std::strerror(errno));
  if (pid_ == 0) run_child(plan);
  // Also here, so that a kill() right after reaches the group whichever of the two runs first.
  if (own_group_) setpgid(pid_, pid_);

  failure.write.reset();
  int reason = 0;
  ssize_t got = 0;
  do {
    got = read(failure.read.get(), &reason, sizeof reason);
  } while (got < 0 && errno == EINTR);
  if (got == sizeof reason) {
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
    fail(ErrorKind::io, "cannot start '{}': {}", options.arguments[0], std::strerror(reason));
  }
  pid_fd_ = Fd(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  input_ = std::move(in.parent);
  output_ = std::move(out.parent);
  error_ = std::move(err.parent);
}

Subprocess::~Subprocess() { finish(); }

Subprocess::Subprocess(Subprocess&& other) noexcept { *this = std::move(other); }

Subprocess& Subprocess::operator=(Subprocess&& other) noexcept {
  if (this == &other) return *this;
  finish();
  pid_ = std::exchange(other.pid_, -1);
  own_group_ = other.own_group_;
  pid_fd_ = std::move(other.pid_fd_);
  input_ = std::move(other.input_);
  output_ = std::move(other.output_);
  error_ = std::move(other.error_);
  status_ = other.status_;
  return *this;
}

void Subprocess::finish() noexcept {
  if (pid_ < 0) return;
  if (!status_) {
    kill(SIGKILL);
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  pid_ = -1;
}

bool Subprocess::running() { return !wait_for(std::chrono::milliseconds{0}).has_value(); }

ExitStatus Subprocess::wait() {
  if (status_) return *status_;
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0) {
    if (errno != EINTR) fail(ErrorKind::io, "waiting for process {}: {}", pid_, std::strerror(errno));
  }
  status_ = status_from_wait(status);
  return *status_;
}

std::optional<ExitStatus> Subprocess::wait_for(std::chrono::milliseconds timeout) {
  if (status_) return status_;
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      status_ = status_from_wait(status);
      return status_;
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return std::nullopt;
    // Kernels before 5.3 have no pidfd: look again every few milliseconds.
    pollfd ended{pid_fd_.get(), POLLIN, 0};
    poll(&ended, pid_fd_ ? 1 : 0, static_cast<int>(pid_fd_ ? left.count() : std::min<long>(left.count(), 5)));
  }
}

void Subprocess::kill(int signal) {
  if (pid_ > 0 && !status_) ::kill(own_group_ ? -pid_ : pid_, signal);
}

}  // namespace wavetune::process
