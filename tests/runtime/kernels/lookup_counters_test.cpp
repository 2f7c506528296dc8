// A kernel cache counts what was run by how it was matched, each shape once.
#include <gtest/gtest.h>

#include "db/base/error.h"
#include "runtime/kernels/kernel_cache.h"
#include "templates/registry.h"

namespace wavetune::kernels {
namespace {

db::Problem silu(std::int64_t m, std::int64_t n = 32) { return {"silu_mul", "f32", {{"m", m}, {"n", n}}}; }

class LookupCountersTest : public testing::Test {
 protected:
  KernelCache cache(UntunedPolicy policy) {
    std::vector<db::Winner> winners;
    const templates::Operator& op = templates::get_operator("silu_mul");
    for (const std::int64_t m : {4, 16}) {
      winners.push_back({silu(m),
                         op.default_config(silu(m), provider_->devices().front().limits),
                         1,
                         {},
                         templates::source_hash(op)});
    }
    return {provider_, compiler_, WinnerIndex(std::move(winners)), policy};
  }

  static jit::CompileOptions compile_options() {
    jit::CompileOptions options;
    options.worker_executable = WAVETUNE_BINARY;
    return options;
  }

  std::shared_ptr<const hip::Provider> provider_ = hip::load_provider(hip::parse_device_spec("cpu:2"));
  jit::CompileService compiler_{compile_options()};
};

TEST_F(LookupCountersTest, ByMatchEachShapeOnce) {
  KernelCache kernels = cache(UntunedPolicy::warn);
  for (const int device : {0, 1, 0}) {
    kernels.get(silu(4), device);
    kernels.get(silu(3), silu(4), device);
    kernels.get(silu(13), silu(16), device);
    kernels.get(silu(16), silu(16), device);
    kernels.get(silu(7), silu(8), device);
    kernels.get(silu(4, 64), device);
  }
  const LookupCounters counters = kernels.counters();
  EXPECT_EQ(counters.exact, 2);
  EXPECT_EQ(counters.bucket, 2);
  EXPECT_EQ(counters.nearest, 1);
  EXPECT_EQ(counters.fallback, 1);
  EXPECT_EQ(&kernels.get(silu(3), silu(4), 0), &kernels.get(silu(4), 0)) << "one kernel";
}

TEST_F(LookupCountersTest, OnlyAFallbackIsRefused) {
  KernelCache kernels = cache(UntunedPolicy::refuse);
  EXPECT_NO_THROW(kernels.get(silu(3), silu(4), 0));
  EXPECT_NO_THROW(kernels.get(silu(7), silu(8), 0));
  EXPECT_THROW(kernels.get(silu(3, 64), silu(4, 64), 0), Error);
}

/// What is made without a device to load it on can be taken elsewhere.
TEST_F(LookupCountersTest, CodeIsNamedByWhatItDoes) {
  KernelCache kernels = cache(UntunedPolicy::warn);
  const std::vector<db::Problem> problems{silu(4), silu(16), silu(4, 64)};
  kernels.prepare(problems, {});
  const auto code = kernels.code();
  ASSERT_FALSE(code.empty());
  KernelCache second(
      provider_, compiler_, WinnerIndex(kernels.winners().winners()), UntunedPolicy::warn,
      [&code](const jit::CompileRequest& request, const jit::CompileService&) -> std::optional<std::vector<std::byte>> {
        return code.at(jit::program_key(request));
      });
  const int device = 0;
  second.prepare(problems, {&device, 1});
  EXPECT_EQ(second.code_sources().database, static_cast<std::int64_t>(code.size()));
  EXPECT_EQ(second.code_sources().cache + second.code_sources().compiled, 0);
}

}  // namespace
}  // namespace wavetune::kernels
