#include "runtime/jit/compile_worker.h"

#include <csignal>
#include <nlohmann/json.hpp>
#include <utility>

#include "db/base/error.h"
#include "runtime/jit/compile_log.h"
#include "runtime/jit/packed_message.h"
#include "runtime/jit/resources_json.h"

namespace wavetune::jit {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

}  // namespace

CompileWorker::CompileWorker(std::filesystem::path executable, std::size_t memory_limit_bytes)
    : executable_(std::move(executable)), memory_limit_bytes_(memory_limit_bytes) {}

void CompileWorker::start() {
  process::SubprocessOptions options;
  options.arguments = {executable_.string(), "__compile-worker"};
  // comgr's own cache would grow beside ours, and its hits would hide what a compile costs.
  options.environment = {{"AMD_COMGR_CACHE", "0"}};
  options.standard_error = process::Stdio::null;
#if !defined(__SANITIZE_ADDRESS__)
  options.memory_limit_bytes = memory_limit_bytes_;  // AddressSanitizer reserves terabytes of address space
#endif
  process_.emplace(options);
  channel_.emplace(process_->output(), process_->input());
}

CompileResult CompileWorker::failed(db::Outcome outcome, std::string log, double milliseconds) {
  if (process_) process_->kill(SIGKILL);
  channel_.reset();
  process_.reset();
  CompileResult result;
  result.outcome = outcome;
  result.log = std::move(log);
  result.milliseconds = milliseconds;
  return result;
}

CompileResult CompileWorker::compile(const CompileRequest& request, std::chrono::milliseconds timeout,
                                     const std::atomic<bool>& stop) {
  const process::TemporaryDirectory temporary("wavetune-compile");
  const Clock::time_point start_time = Clock::now();
  const nlohmann::json head = {{"device", request.device},
                               {"source", request.source},
                               {"options", request.options},
                               {"temporary", temporary.path().string()}};
  const std::string message = pack_message(head);
  // A worker that died while idle (someone killed it) is replaced: that is not this source's fault.
  if (process_ && !process_->running()) (void)failed(db::Outcome::compile_crash, "", 0);
  if (!process_) start();
  if (!channel_->send(message)) {
    (void)failed(db::Outcome::compile_crash, "", 0);
    start();
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
    if (outcome == process::ReadOutcome::closed) {
      const auto status = process_->wait_for(std::chrono::milliseconds(1000));
      return failed(db::Outcome::compile_crash,
                    "the compiler died: " + (status ? status->describe() : std::string("its pipe was closed")),
                    milliseconds_since(start_time));
    }
  }
  try {
    std::span<const std::byte> payload;
    const nlohmann::json reply = unpack_message(answer, payload);
    CompileResult result;
    result.outcome =
        db::outcome_from_string(reply.at("outcome").get<std::string>()).value_or(db::Outcome::compile_crash);
    result.log = clean_log(reply.at("log").get<std::string>(), temporary.path().string());
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
