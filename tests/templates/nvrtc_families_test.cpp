// Every family compiled by NVRTC for Hopper over a sample of its space, at GLM-5.2's shapes: what the compiler says of
// the kernels against what launches need. No GPU is needed.
#include <gtest/gtest.h>

#include <algorithm>

#include "compile_all.h"
#include "db/base/error.h"
#include "family_samples.h"
#include "runtime/hip/cuda/cubin.h"
#include "runtime/hip/cuda/nvrtc_install.h"

namespace wavetune::templates::test {
namespace {

constexpr int register_file = 65536;  // registers of a multiprocessor
constexpr int rounding = 64;          // bytes of LDS by which a prediction may be too high

/// Products of fp4 with fp4 are left out on NVIDIA: Hopper has no instructions for fp4, and nothing is gained over fp8.
bool has_kernels(const Problem& problem) {
  return problem.dtype != "mxfp4" || (problem.op != "gemm" && problem.op != "grouped_gemm");
}

/// Kernels of one compiled configuration against its launches.
void check_kernels(const Operator& op, const Problem& problem, const Config& config, const DeviceLimits& limits,
                   const jit::CompileResult& compiled, const std::string& where) {
  ASSERT_EQ(db::to_string(compiled.outcome), db::to_string(db::Outcome::ok)) << where << "\n"
                                                                             << compiled.log.substr(0, 1000);
  const hip::cuda::Cubin cubin = hip::cuda::read_cubin(compiled.code, where);
  const std::vector<Launch> launches = dry_launches(op, problem, config);
  const std::vector<ResourceEstimate> estimates = op.estimate(problem, config, limits);
  ASSERT_EQ(estimates.size(), launches.size()) << where;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const Launch& launch = launches[i];
    const auto kernel = std::find_if(cubin.kernels.begin(), cubin.kernels.end(),
                                     [&](const hip::cuda::CubinKernel& k) { return k.name == launch.kernel; });
    ASSERT_NE(kernel, cubin.kernels.end()) << where << " has no kernel " << launch.kernel;
    const int threads = static_cast<int>(launch.block[0] * launch.block[1] * launch.block[2]);
    EXPECT_LE(threads, kernel->max_threads) << where << " " << launch.kernel;
    EXPECT_LE(kernel->registers * threads, register_file) << where << " " << launch.kernel;
    const int lds = kernel->lds_bytes + static_cast<int>(launch.lds_bytes);
    EXPECT_LE(lds, limits.lds_bytes) << where << " " << launch.kernel;
    EXPECT_GE(estimates[i].lds_bytes, lds) << where << " " << launch.kernel;
    EXPECT_LE(estimates[i].lds_bytes, lds + rounding) << where << " " << launch.kernel;
  }
}

class Families : public testing::TestWithParam<std::string> {};

TEST_P(Families, CompileForSm90WithinItsLimits) {
  const hip::cuda::NvrtcSearch search = hip::cuda::find_nvrtc();
  if (!search.found) GTEST_SKIP() << search.missing();
  const Problem& problem = families().at(GetParam());
  const Operator& op = get_operator(problem.op);
  const jit::CompileTarget target = jit::compile_target_for_arch("sm_90a");
  if (!has_kernels(problem)) {
    EXPECT_THROW((void)op.default_config(problem, target.limits), Error);
    return;
  }
  const std::vector<Config> configs = family_sample(problem, target.limits, family_points());
  const std::vector<jit::CompileResult> compiled = compile_all(target, op, problem, configs);
  std::size_t spilling = 0;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const jit::CompileResult& result = compiled[i];
    check_kernels(op, problem, configs[i], target.limits, result, problem.key() + " " + db::to_text(configs[i]));
    spilling += result.resources.scratch_bytes.value_or(0) > 0 ? 1 : 0;
  }
  EXPECT_EQ(compiled.front().resources.scratch_bytes.value_or(0), 0) << "the default configuration spills";
  EXPECT_LE(spilling, configs.size() / 4) << "of " << configs.size() << " configurations";
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& [name, problem] : families()) all.push_back(name);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Nvrtc, Families, testing::ValuesIn(names()), [](const auto& family) { return family.param; });

}  // namespace
}  // namespace wavetune::templates::test
