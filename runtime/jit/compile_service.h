// Compiles kernel sources in worker processes: hipRTC serialises inside one process, and some inputs kill it.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "db/trial.h"

namespace wavetune::jit {

struct CompileRequest {
  std::string device;                ///< device spec that names the provider ("cpu", "hip")
  std::string source;                ///< complete translation unit
  std::vector<std::string> options;  ///< for hiprtcCompileProgram
};

struct CompileResult {
  db::Outcome outcome = db::Outcome::ok;  ///< ok, compile_error, compile_crash or compile_timeout
  std::vector<std::byte> code;            ///< the code object when ok
  std::string log;                        ///< compiler's text, paths stripped
  double milliseconds = 0;
  bool from_cache = false;
  db::Resources resources;
};

struct CompileOptions {
  int workers = 0;  ///< 0: one per core
  std::chrono::milliseconds timeout{60'000};
  std::size_t memory_limit_bytes = std::size_t{4} << 30;
  std::filesystem::path cache_directory;  ///< empty: default (WAVETUNE_CACHE_DIR, else XDG_CACHE_HOME/wavetune)
  std::size_t cache_limit_bytes = std::size_t{1} << 30;
  std::filesystem::path worker_executable;  ///< empty: this executable, started as `wavetune __compile-worker`
};

/// A pool of worker processes with a content-addressed cache in front. Thread-safe. A worker that dies or hangs fails
/// one request and is replaced. Identical requests in flight share one result. The destructor ends all workers.
class CompileService {
 public:
  explicit CompileService(CompileOptions options);
  ~CompileService();
  CompileService(const CompileService&) = delete;
  CompileService& operator=(const CompileService&) = delete;

  std::shared_future<CompileResult> submit(CompileRequest request);
  CompileResult compile(CompileRequest request) { return submit(std::move(request)).get(); }
  int workers() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Entry point of `wavetune __compile-worker`: requests on stdin, results on stdout, until end of file.
int compile_worker_main();

}  // namespace wavetune::jit
