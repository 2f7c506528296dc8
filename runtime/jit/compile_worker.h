// The two ends of the compile protocol. One request and one answer at a time.
#pragma once

#include <atomic>
#include <filesystem>
#include <optional>
#include <string>

#include "runtime/jit/compile_service.h"
#include "runtime/process/message_channel.h"
#include "runtime/process/subprocess.h"

namespace wavetune::jit {

/// The parent's end: a process that is started when first needed and replaced after it died or was killed. Belongs to
/// the thread that uses it: the process dies with that thread.
class CompileWorker {
 public:
  CompileWorker(std::filesystem::path executable, std::size_t memory_limit_bytes);

  /// Never throws for what the source does: a compiler that dies or overruns gives compile_crash or compile_timeout.
  /// Throws Error io when no worker can be started. `stop` is looked at while waiting; when it turns true the compile
  /// is given up.
  CompileResult compile(const CompileRequest& request, std::chrono::milliseconds timeout,
                        const std::atomic<bool>& stop);

 private:
  void start();
  CompileResult failed(db::Outcome outcome, std::string log, double milliseconds);

  std::filesystem::path executable_;
  std::size_t memory_limit_bytes_;
  std::optional<process::Subprocess> process_;
  std::optional<process::MessageChannel> channel_;
};

}  // namespace wavetune::jit
