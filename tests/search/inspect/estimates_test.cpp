// Every family compiled by hipRTC for gfx950 and gfx942 over a sample of its space, at GLM-5.2's shapes; and what is
// predicted of a configuration before it is compiled against the compiler: LDS exactly, occupancy against its remark.
#include <gtest/gtest.h>

#include <map>
#include <regex>

#include "db/base/error.h"
#include "runtime/hip/amd/hiprtc_install.h"
#include "runtime/isa/code_object.h"
#include "runtime/isa/occupancy.h"
#include "runtime/jit/target.h"
#include "tests/search/support/scratch.h"
#include "tests/templates/family_samples.h"

namespace wavetune::search {
namespace {

using templates::test::families;
using templates::test::family_sample;

/// All that the device tests compute, for gfx950; some for gfx942.
std::size_t points_for(std::string_view arch) {
  const std::size_t all = templates::test::family_points();
  return arch == "gfx950" ? all : (all + 4) / 5;
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

class Families : public testing::TestWithParam<std::string> {};

TEST_P(Families, CompileForGfx950AndGfx942AsPredicted) {
  const hip::amd::HiprtcSearch search = hip::amd::find_hiprtc();
  if (!search.found) GTEST_SKIP() << "no hipRTC in " << search.looked << "; ./setup.sh fetches one";
  const db::Problem& problem = families().at(GetParam());
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
    const std::vector<db::Config> configs = family_sample(problem, target.limits, points_for(arch));
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

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& [name, problem] : families()) all.push_back(name);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Hiprtc, Families, testing::ValuesIn(names()), [](const auto& family) { return family.param; });

}  // namespace
}  // namespace wavetune::search
