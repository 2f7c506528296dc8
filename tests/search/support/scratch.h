// A folder for one test's database and cache.
#pragma once

#include "runtime/jit/compile_service.h"
#include "runtime/process/subprocess.h"

namespace wavetune::test {

struct Scratch {
  process::TemporaryDirectory directory{"wavetune-test"};
  std::filesystem::path database() const { return directory.path() / "test.db"; }
  std::filesystem::path cache() const { return directory.path() / "cache"; }
  jit::CompileOptions compile_options() const {
    jit::CompileOptions options;
    options.workers = 2;
    options.cache_directory = cache();
    return options;
  }
};

}  // namespace wavetune::test
