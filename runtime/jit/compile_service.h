// Compiles kernel sources in worker processes: hipRTC serialises inside one process, and some inputs kill it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
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
  /// Address space of one worker. hipRTC needs 0.26 GiB for itself; a kernel, however large, has stayed below 1 GiB.
  std::size_t memory_limit_bytes = std::size_t{2} << 30;
  std::filesystem::path cache_directory;  ///< empty: default (WAVETUNE_CACHE_DIR, else XDG_CACHE_HOME/wavetune)
  std::size_t cache_limit_bytes = std::size_t{1} << 30;
  std::filesystem::path worker_executable;  ///< empty: this executable, started as `wavetune __compile-worker`
};

/// What became of the requests so far.
struct CompileCounters {
  std::int64_t submitted = 0;
  std::int64_t compiled = 0;    ///< by a worker, whatever the outcome
  std::int64_t from_cache = 0;  ///< found on disk
  std::int64_t shared = 0;      ///< joined an identical request in flight
};

/// What a request's result has to do, whoever compiled it: a hash of the options, the source and the files that it
/// includes.
std::string program_key(const CompileRequest& request);

/// A pool of worker processes with a content-addressed cache in front. Thread-safe. A worker that dies or hangs fails
/// one request and is replaced. Identical requests in flight share one result. The destructor ends all workers; so does
/// the death of this process, and temporary files that a killed process left are removed by the next one.
class CompileService {
 public:
  explicit CompileService(CompileOptions options);
  ~CompileService();
  CompileService(const CompileService&) = delete;
  CompileService& operator=(const CompileService&) = delete;

  /// Throws Error usage for a device spec that is none and not_found when there is no compiler for it.
  std::shared_future<CompileResult> submit(CompileRequest request);
  /// Same; `done` is called once, with the finished future, by a thread of this service, which it must not hold up.
  void submit(CompileRequest request, std::function<void(std::shared_future<CompileResult>)> done);
  CompileResult compile(CompileRequest request) { return submit(std::move(request)).get(); }
  /// All requests that are not finished fail with Error internal, within a tenth of a second: for the end of a run.
  void give_up_all();
  int workers() const;
  CompileCounters counters() const;
  /// The name of a request's result, in the cache and in the database: a hash of the compiler and its version, the
  /// options, the source and the files that it includes. Throws as submit() does.
  std::string key(const CompileRequest& request) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Entry point of `wavetune __compile-worker`: requests on stdin, results on stdout, until end of file.
int compile_worker_main();

}  // namespace wavetune::jit
