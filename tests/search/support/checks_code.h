// The kernels that look at operands where they are, compiled for a provider's devices as the tuner does.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/hip/provider.h"
#include "runtime/jit/compile_service.h"
#include "search/measure/device_checks.h"

namespace wavetune::test {

/// `device`: the spec that `provider` was loaded by.
inline std::shared_ptr<const std::vector<std::byte>> checks_code(jit::CompileService& compiler,
                                                                 const hip::Provider& provider,
                                                                 const std::string& device = "cpu") {
  auto compiled = compiler.compile({device, provider.prelude() + measure::device_checks_source(),
                                    provider.compile_options(provider.devices().front())});
  EXPECT_EQ(compiled.outcome, db::Outcome::ok) << compiled.log;
  return std::make_shared<const std::vector<std::byte>>(std::move(compiled.code));
}

}  // namespace wavetune::test
