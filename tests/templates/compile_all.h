// Compiles configurations as `tune` does, in worker processes and without a GPU, with a cache of their own.
#pragma once

#include <vector>

#include "runtime/jit/compile_service.h"
#include "runtime/jit/target.h"
#include "runtime/process/subprocess.h"

namespace wavetune::templates::test {

/// One result each, whatever the outcome.
inline std::vector<jit::CompileResult> compile_all(const jit::CompileTarget& target, const Operator& op,
                                                   const Problem& problem, const std::vector<Config>& configs) {
  const process::TemporaryDirectory directory("wavetune-compile-test");
  jit::CompileOptions options;
  options.workers = 2;
  options.worker_executable = WAVETUNE_BINARY;
  options.cache_directory = directory.path() / "cache";
  jit::CompileService service(options);
  std::vector<std::shared_future<jit::CompileResult>> compiled;
  for (const Config& config : configs)
    compiled.push_back(service.submit(jit::request_for(target, op, problem, config)));
  std::vector<jit::CompileResult> results;
  for (const auto& result : compiled) results.push_back(result.get());
  return results;
}

}  // namespace wavetune::templates::test
