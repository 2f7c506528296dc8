// Kernels from outside through hipRTC, which needs no GPU.
#include <gtest/gtest.h>

#include "runtime/hip/amd/hiprtc_install.h"
#include "runtime/isa/code_object.h"
#include "runtime/jit/target.h"
#include "search/space/search_space.h"
#include "templates/t1/spec_operator.h"
#include "tests/search/support/scratch.h"

namespace wavetune::search {
namespace {

class SpecForGfx950 : public testing::TestWithParam<const char*> {};

TEST_P(SpecForGfx950, CompilesAsItDoesForTheCpu) {
  const hip::amd::HiprtcSearch search = hip::amd::find_hiprtc();
  if (!search.found) GTEST_SKIP() << "no hipRTC in " << search.looked << "; ./setup.sh fetches one";
  const test::Scratch scratch;
  jit::CompileService service(scratch.compile_options());
  const jit::CompileTarget target = jit::compile_target_for_arch("gfx950");
  const templates::SpecOperator op(std::string(WAVETUNE_SOURCE_DIR "/tests/data/spec/") + GetParam() + ".json");
  const db::Problem problem = op.problem();
  const db::Config usual = op.default_config(problem, target.limits);
  const SearchSpace space(op.space(problem, target.limits));
  for (const PointId id : space.steps(*space.find(usual))) {
    const db::Config config = space.config(id);
    const jit::CompileResult compiled = service.compile(jit::request_for(target, op, problem, config));
    ASSERT_EQ(compiled.outcome, db::Outcome::ok) << db::to_text(config) << "\n" << compiled.log;
    const isa::CodeObject object = isa::read_code_object(compiled.code, problem.key());
    // By its plain name, though it has C++ linkage, and with the arguments where launches put them.
    const templates::Launch launch = templates::dry_launches(op, problem, config).front();
    EXPECT_EQ(object.kernel(launch.kernel).resources.spills.value_or(0), 0);
  }
  jit::CompileRequest reference = jit::request_for(target, op, problem, usual);
  reference.source = target.prelude + op.reference_source();
  EXPECT_EQ(service.compile(std::move(reference)).outcome, db::Outcome::ok);
}

INSTANTIATE_TEST_SUITE_P(Files, SpecForGfx950, testing::Values("matmul", "features"),
                         [](const auto& file) { return std::string(file.param); });

}  // namespace
}  // namespace wavetune::search
