// The two ends of the compile protocol. One request and one answer at a time.
#pragma once

#include <atomic>
#include <filesystem>
#include <optional>
#include <string>

#include "runtime/jit/compile_service.h"
#include "runtime/jit/worker_setup.h"
#include "runtime/process/message_channel.h"
#include "runtime/process/subprocess.h"

namespace wavetune::jit {

/// What the compiler prints during a request, in the request's folder.
inline constexpr const char* worker_output_file = "output";

/// The parent's end: a process that is started when first needed and replaced after it died or was killed. Belongs to
/// the thread that uses it: the process dies with that thread. A request for another compiler replaces it too.
class CompileWorker {
 public:
  /// `executable` as in WorkerSetup::command.
  CompileWorker(std::filesystem::path executable, std::size_t memory_limit_bytes);

  /// Never throws for what the source does: a compiler that dies or overruns gives compile_crash or compile_timeout.
  /// Throws Error io when no worker can be started. `stop` is looked at while waiting; when it turns true the compile
  /// is given up. `temporary` is the compiler's TMPDIR: a folder that must not exist yet; it is made, and removed
  /// before the answer whatever happens.
  CompileResult compile(const CompileRequest& request, const WorkerSetup& setup, const std::filesystem::path& temporary,
                        std::chrono::milliseconds timeout, const std::atomic<bool>& stop);

 private:
  void start(const WorkerSetup& setup);
  void end();
  CompileResult died(const std::filesystem::path& temporary, double milliseconds);
  CompileResult failed(db::Outcome outcome, std::string log, double milliseconds);

  std::filesystem::path executable_;
  std::size_t memory_limit_bytes_;
  WorkerSetup setup_;  ///< of the process, when there is one
  std::optional<process::Subprocess> process_;
  std::optional<process::MessageChannel> channel_;
};

}  // namespace wavetune::jit
