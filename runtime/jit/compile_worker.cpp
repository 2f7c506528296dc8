#include "runtime/jit/compile_worker.h"

#include <csignal>
#include <nlohmann/json.hpp>
#include <utility>

#include "db/base/error.h"
#include "db/base/file.h"
#include "runtime/jit/compile_log.h"
#include "runtime/jit/packed_message.h"
#include "runtime/jit/resources_json.h"

namespace wavetune::jit {
namespace {

// A core that the measuring process or its driver wants is theirs: a compile only takes longer.
constexpr int behind_measurements = 10;

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// Makes the folder of one request and removes it with all that the compiler left there.
class RequestFolder {
 public:
  explicit RequestFolder(const std::filesystem::path& path) : path_(path) {
    std::error_code error;
    if (!std::filesystem::create_directory(path, error))
      fail(ErrorKind::io, "cannot make the folder {} for a compile: {}", path.string(), error.message());
  }
  ~RequestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  RequestFolder(const RequestFolder&) = delete;
  RequestFolder& operator=(const RequestFolder&) = delete;

 private:
  const std::filesystem::path& path_;
};

/// The end of what the compiler printed in this request.
std::string last_words(const std::filesystem::path& temporary) {
  constexpr std::size_t most = 2000;
  std::string text;
  try {
    text = read_file(temporary / worker_output_file);
  } catch (const Error&) {
    return "";
  }
  text = clean_log(text, temporary.string(), text.size());
  if (text.size() <= most) return text;
  return "[...] " + text.substr(text.size() - most);
}

}  // namespace

CompileWorker::CompileWorker(std::filesystem::path executable, std::size_t memory_limit_bytes)
    : executable_(std::move(executable)), memory_limit_bytes_(memory_limit_bytes) {}

void CompileWorker::start(const WorkerSetup& setup) {
  process::SubprocessOptions options;
  options.arguments = setup.command(executable_);
  // comgr's own cache would grow beside ours, and its hits would hide what a compile costs.
  options.environment = {{"AMD_COMGR_CACHE", "0"}};
  // What is preloaded here need not fit another loader's C library.
  if (!setup.loader.empty()) options.unset_environment = {"LD_PRELOAD"};
  options.standard_error = process::Stdio::null;
  options.niceness = behind_measurements;
  options.death_signal = SIGTERM;  // it then ends its whole group
#if !defined(__SANITIZE_ADDRESS__)
  options.memory_limit_bytes = memory_limit_bytes_;  // AddressSanitizer reserves terabytes of address space
#endif
  process_.emplace(options);
  channel_.emplace(process_->output(), process_->input());
  setup_ = setup;
}

void CompileWorker::end() {
  if (process_) process_->kill(SIGKILL);
  channel_.reset();
  process_.reset();
}

CompileResult CompileWorker::failed(db::Outcome outcome, std::string log, double milliseconds) {
  end();
  CompileResult result;
  result.outcome = outcome;
  result.log = std::move(log);
  result.milliseconds = milliseconds;
  return result;
}

CompileResult CompileWorker::died(const std::filesystem::path& temporary, double milliseconds) {
  const auto status = process_->wait_for(std::chrono::milliseconds(1000));
  std::string log = "the compiler died: " + (status ? status->describe() : std::string("its pipe was closed"));
  if (const std::string said = last_words(temporary); !said.empty()) {
    log += "\n" + said;
    if (said.find("memory") != std::string::npos || said.find("bad_alloc") != std::string::npos) {
      log += fmt::format("\n(a compile may take {:.1f} GiB of address space)",
                         static_cast<double>(memory_limit_bytes_) / (1 << 30));
    }
  }
  return failed(db::Outcome::compile_crash, std::move(log), milliseconds);
}

CompileResult CompileWorker::compile(const CompileRequest& request, const WorkerSetup& setup,
                                     const std::filesystem::path& temporary, std::chrono::milliseconds timeout,
                                     const std::atomic<bool>& stop) {
  const RequestFolder folder(temporary);
  const Clock::time_point start_time = Clock::now();
  const nlohmann::json head = {{"device", setup.device},
                               {"library", setup.library},
                               {"source", request.source},
                               {"options", request.options},
                               {"temporary", temporary.string()}};
  const std::string message = pack_message(head);
  // A worker that died while idle (someone killed it) is replaced: that is not this source's fault.
  if (process_ && (setup != setup_ || !process_->running())) end();
  if (!process_) start(setup);
  if (!channel_->send(message)) {
    end();
    start(setup);
    if (!channel_->send(message)) return failed(db::Outcome::compile_crash, "the compile worker does not start", 0);
  }
  std::string answer;
  for (;;) {
    const auto left = timeout - std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start_time);
    if (stop) return failed(db::Outcome::compile_crash, "given up: the compile service was stopped", 0);
    if (left.count() <= 0) {
      return failed(db::Outcome::compile_timeout, fmt::format("no result after {} ms", timeout.count()),
                    milliseconds_since(start_time));
    }
    // Short waits, so that `stop` is seen.
    const auto outcome = channel_->receive(answer, std::min(left, std::chrono::milliseconds(100)));
    if (outcome == process::ReadOutcome::message) break;
    if (outcome == process::ReadOutcome::closed) return died(temporary, milliseconds_since(start_time));
  }
  try {
    std::span<const std::byte> payload;
    const nlohmann::json reply = unpack_message(answer, payload);
    CompileResult result;
    result.outcome =
        db::outcome_from_string(reply.at("outcome").get<std::string>()).value_or(db::Outcome::compile_crash);
    result.log = clean_log(reply.at("log").get<std::string>(), temporary.string());
    result.milliseconds = reply.at("milliseconds").get<double>();
    result.resources = resources_from_json(reply.at("resources"));
    result.code.assign(payload.begin(), payload.end());
    return result;
  } catch (const std::exception& error) {
    return failed(db::Outcome::compile_crash, fmt::format("unreadable answer of the compile worker: {}", error.what()),
                  milliseconds_since(start_time));
  }
}

}  // namespace wavetune::jit
