// Every family compiled by hipRTC for gfx950 and gfx942 over a sample of its space, at GLM-5.2's shapes; and what is
// predicted of a configuration before it is compiled against the compiler: LDS exactly, occupancy against its remark.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <regex>

#include "db/base/error.h"
#include "model/config.h"
#include "runtime/hip/amd/hiprtc_install.h"
#include "runtime/isa/code_object.h"
#include "runtime/isa/occupancy.h"
#include "runtime/jit/target.h"
#include "search/layout/candidate_layouts.h"
#include "templates/registry.h"
#include "tests/search/support/scratch.h"

namespace wavetune::search {
namespace {

/// Points of each family's space that are compiled.
std::size_t points_for(std::string_view arch) {
  const char* const text = std::getenv("WAVETUNE_TEST_SAMPLES");
  if (text != nullptr) return std::stoul(text);
  return arch == "gfx950" ? 30 : 6;
}

db::Problem grouped(const char* dtype) {
  return {"grouped_gemm", dtype, {{"m", 64}, {"topk", 9}, {"experts", 257}, {"n", 512}, {"k", 6144}, {"swiglu", 1}}};
}

/// One problem of each operator and format: those that GLM-5.2 runs in a decode step over four devices, and the
/// quantised ones.
std::map<std::string, db::Problem> sample_problems() {
  std::map<std::string, db::Problem> problems;
  const auto add = [&problems](const db::Problem& problem) {
    problems.try_emplace(problem.op + "_" + problem.dtype, problem);
  };
  for (const char* dtype : {"f32", "bf16", "fp8_block", "fp8_token", "mxfp4", "fp8_mxfp4", "bf16_mxfp4"}) {
    add({"gemm", dtype, {{"batch", 1}, {"m", 64}, {"n", 6144}, {"k", 2048}}});
  }
  for (const char* dtype : {"fp8_block", "mxfp4", "fp8_mxfp4", "bf16_mxfp4"}) add(grouped(dtype));
  for (const char* dtype : {"fp8_block", "fp8_token", "mxfp4"}) add({"quantize", dtype, {{"m", 64}, {"k", 6144}}});
  add({"sample", "f32", {{"m", 32}, {"n", 38720}, {"ranks", 4}}});
  const Workload workload;
  for (const CandidateLayout& layout : candidate_layouts(model::resolve_model("glm-5.2"), 4, {4}, workload)) {
    for (const auto& [problem, count] : step_problems(*layout.program, decode_step(workload, 32))) {
      if (templates::find_operator(problem.op) != nullptr) add(problem);
    }
  }
  return problems;
}

/// The default and `count` - 1 others, spread at random over the valid part of the space: all of it when it is smaller.
std::vector<db::Config> sample_configs(const templates::Operator& op, const db::Problem& problem,
                                       const templates::DeviceLimits& limits, std::size_t count) {
  std::vector<db::Config> all = op.space(problem, limits).enumerate();
  std::mt19937_64 random(7);
  std::shuffle(all.begin(), all.end(), random);
  std::vector<db::Config> configs{op.default_config(problem, limits)};
  for (db::Config& config : all) {
    if (configs.size() == count) break;
    if (config != configs.front()) configs.push_back(std::move(config));
  }
  return configs;
}

/// Whether the architecture has matrix instructions for the problem's numbers.
bool has_format(std::string_view arch, const db::Problem& problem) {
  if (arch == "gfx950" || problem.op == "quantize") return true;
  return problem.dtype.find("fp8") == std::string::npos && problem.dtype != "mxfp4";
}

/// Waves per SIMD by kernel, from -Rpass-analysis=kernel-resource-usage.
std::map<std::string, int> remarked_occupancy(const std::string& log) {
  std::map<std::string, int> occupancy;
  const std::regex form(R"(Function Name: (\w+)|Occupancy \[waves/SIMD\]: (\d+))");
  std::string kernel;
  for (std::sregex_iterator at(log.begin(), log.end(), form), end; at != end; ++at) {
    if ((*at)[1].matched) {
      kernel = (*at)[1];
    } else if (!kernel.empty()) {
      occupancy[kernel] = std::stoi((*at)[2]);
    }
  }
  return occupancy;
}

/// Kernels of one family: how many, how many had a remark, and for how many of those ours is the same.
struct Agreement {
  int kernels = 0, remarks = 0, agreeing = 0;
};

void check_against_compiler(const templates::Operator& op, const db::Problem& problem, const db::Config& config,
                            const jit::CompileTarget& target, const jit::CompileResult& compiled, Agreement& tally) {
  const std::string where = target.arch + " " + problem.key() + " " + db::to_text(config);
  ASSERT_EQ(db::to_string(compiled.outcome), db::to_string(db::Outcome::ok)) << where << "\n"
                                                                             << compiled.log.substr(0, 500);
  const isa::CodeObject object = isa::read_code_object(compiled.code, where);
  const std::map<std::string, int> remarked = remarked_occupancy(compiled.log);
  const std::vector<templates::ResourceEstimate> estimates = op.estimate(problem, config, target.limits);
  const std::vector<templates::Launch> launches = templates::dry_launches(op, problem, config);
  ASSERT_EQ(estimates.size(), launches.size()) << where;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const isa::KernelCode& kernel = object.kernel(launches[i].kernel);
    EXPECT_EQ(estimates[i].kernel, launches[i].kernel) << where;
    EXPECT_EQ(estimates[i].lds_bytes, kernel.resources.lds_bytes.value_or(0) + static_cast<int>(launches[i].lds_bytes))
        << where << " " << kernel.name;
    EXPECT_LE(estimates[i].threads, kernel.max_threads) << where << " " << kernel.name;
    ++tally.kernels;
    // The remark knows static LDS and the largest block only: compare under the same conditions.
    const auto remark = remarked.find(kernel.name);
    if (remark == remarked.end()) continue;
    ++tally.remarks;
    const isa::OccupancyResult ours =
        isa::occupancy(isa::block_needs(kernel.resources, kernel.max_threads, 0), *isa::cu_limits(target.arch));
    const auto* fits = std::get_if<isa::Occupancy>(&ours);
    tally.agreeing += fits != nullptr && fits->compiler_waves_per_simd == remark->second ? 1 : 0;
  }
}

class Families : public testing::TestWithParam<const char*> {};

TEST_P(Families, CompileForGfx950AndGfx942AsPredicted) {
  const hip::amd::HiprtcSearch search = hip::amd::find_hiprtc();
  if (!search.found) GTEST_SKIP() << "no hipRTC in " << search.looked << "; ./setup.sh fetches one";
  const std::map<std::string, db::Problem> problems = sample_problems();
  const auto found = problems.find(GetParam());
  ASSERT_NE(found, problems.end()) << "the program of GLM-5.2 has no such operator and format";
  const db::Problem& problem = found->second;
  const templates::Operator& op = templates::get_operator(problem.op);
  const test::Scratch scratch;
  jit::CompileService service(scratch.compile_options());
  Agreement tally;
  for (const char* arch : {"gfx950", "gfx942"}) {
    if (!has_format(arch, problem)) {
      EXPECT_THROW((void)op.default_config(problem, jit::compile_target_for_arch(arch).limits), Error) << arch;
      continue;
    }
    jit::CompileTarget target = jit::compile_target_for_arch(arch);
    target.options.emplace_back("-Rpass-analysis=kernel-resource-usage");
    // Warnings and quoted source lines would push remarks out of the log, which is cut at some length.
    for (const char* option : {"-w", "-fno-caret-diagnostics"}) target.options.emplace_back(option);
    const std::vector<db::Config> configs = sample_configs(op, problem, target.limits, points_for(arch));
    std::vector<std::shared_future<jit::CompileResult>> compiled;
    for (const db::Config& config : configs) {
      compiled.push_back(service.submit(jit::request_for(target, op, problem, config)));
    }
    for (std::size_t i = 0; i < configs.size(); ++i) {
      check_against_compiler(op, problem, configs[i], target, compiled[i].get(), tally);
    }
  }
  std::printf("%d kernels, %d remarks, %d agree\n", tally.kernels, tally.remarks, tally.agreeing);
  EXPECT_GE(tally.remarks, tally.kernels * 9 / 10);
  EXPECT_GE(tally.agreeing, tally.remarks * 95 / 100);
}

INSTANTIATE_TEST_SUITE_P(Hiprtc, Families,
                         testing::Values("all_reduce_bf16", "cache_write_bf16", "embedding_bf16", "gemm_f32",
                                         "gemm_bf16", "gemm_bf16_f32", "gemm_fp8_block", "gemm_fp8_token", "gemm_mxfp4",
                                         "gemm_fp8_mxfp4", "gemm_bf16_mxfp4", "grouped_gemm_bf16",
                                         "grouped_gemm_fp8_block", "grouped_gemm_mxfp4", "grouped_gemm_fp8_mxfp4",
                                         "grouped_gemm_bf16_mxfp4", "indexer_scores_bf16", "layernorm_bf16",
                                         "mla_attention_bf16", "moe_combine_bf16", "moe_sort_i32", "quantize_fp8_block",
                                         "quantize_fp8_token", "quantize_mxfp4", "rmsnorm_bf16", "rope_bf16",
                                         "router_f32", "sample_f32", "silu_mul_bf16", "topk_select_f32"),
                         [](const auto& family) { return std::string(family.param); });

}  // namespace
}  // namespace wavetune::search
