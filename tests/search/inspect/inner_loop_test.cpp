// The inner loops of what the analytic model ranks first for many rows, as the compiler made them.
#include <gtest/gtest.h>

#include "runtime/hip/amd/hiprtc_install.h"
#include "runtime/isa/disassembler.h"
#include "runtime/isa/kernel_report.h"
#include "search/driver/static_check.h"
#include "search/offline/offline_tuner.h"
#include "templates/registry.h"
#include "tests/search/support/scratch.h"

namespace wavetune::search {
namespace {

class InnerLoop : public testing::TestWithParam<const char*> {};

TEST_P(InnerLoop, OfTheBestRankedKeepsTheMatrixCoreBusy) {
  const hip::amd::HiprtcSearch search = hip::amd::find_hiprtc();
  if (!search.found) GTEST_SKIP() << "no hipRTC in " << search.looked << "; ./setup.sh fetches one";
  const test::Scratch scratch;
  db::Database database = db::Database::open(scratch.database(), db::OpenMode::create);
  const jit::CompileTarget target = jit::compile_target_for_arch("gfx950");
  OfflineOptions options;
  options.compile = scratch.compile_options();
  OfflineTuner tuner(options, database, target);
  Reporter reporter(ReportStyle::quiet);
  const templates::Operator& op = templates::get_operator("gemm");
  const db::Problem problem{"gemm", GetParam(), {{"batch", 1}, {"m", 4096}, {"n", 6144}, {"k", 2048}}};
  const std::vector<TuneTask> tasks{{&op, problem, 1}};
  tuner.run(tasks, reporter);
  const OfflineRow row = tuner.rows(tasks).front();
  ASSERT_EQ(row.kept, options.shortlist);

  db::Environment node;
  node.arch = target.arch;
  node.compiler_version = target.compiler_version;
  jit::CompileService service(scratch.compile_options());
  for (const db::OfflineTrial& trial :
       database.shortlist(node, problem, templates::source_hash(op), options.shortlist)) {
    EXPECT_EQ(trial.resources.spills.value_or(0), 0) << db::to_text(trial.config);
    EXPECT_EQ(trial.resources.scratch_bytes.value_or(0), 0) << db::to_text(trial.config);
  }
  const jit::CompileResult compiled = service.compile(jit::request_for(target, op, problem, row.best));
  ASSERT_EQ(compiled.outcome, db::Outcome::ok);
  const isa::CodeObject object = isa::read_code_object(compiled.code, problem.key());
  const auto loop = isa::report_loop(isa::disassemble(object, object.kernel("gemm_main")), object.arch);
  std::printf("%s: %.1f %%, %s\n", GetParam(), 100 * loop.cycles.overlapped_share(), db::to_text(row.best).c_str());
  EXPECT_GE(loop.cycles.overlapped_share(), 0.8) << db::to_text(row.best);
}

INSTANTIATE_TEST_SUITE_P(Formats, InnerLoop,
                         testing::Values("bf16", "fp8_block", "fp8_token", "mxfp4", "fp8_mxfp4", "bf16_mxfp4"),
                         [](const auto& format) { return std::string(format.param); });

}  // namespace
}  // namespace wavetune::search
