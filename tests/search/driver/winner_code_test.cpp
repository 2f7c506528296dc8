// A tuned database serves without compiling, also where the code cache is empty.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "db/sqlite/connection.h"
#include "runtime/kernels/kernel_cache.h"
#include "search/driver/tuner.h"
#include "templates/registry.h"
#include "tests/search/support/scratch.h"

namespace wavetune::search {
namespace {

std::vector<TuneTask> three_tasks() {
  std::vector<TuneTask> tasks;
  for (const db::Problem& problem :
       {db::Problem{"silu_mul", "f32", {{"m", 4}, {"n", 32}}}, db::Problem{"silu_mul", "f32", {{"m", 16}, {"n", 32}}},
        db::Problem{"gemm", "f32", {{"batch", 1}, {"k", 64}, {"m", 8}, {"n", 48}}}}) {
    tasks.push_back({&templates::get_operator(problem.op), problem, 1.0});
  }
  return tasks;
}

class TunedDatabase : public testing::Test {
 protected:
  void tune(int trials) {
    TunerOptions options;
    options.device = "cpu";
    options.trials = trials;
    options.compile = scratch_.compile_options();
    options.worker_executable = WAVETUNE_BINARY;
    Reporter reporter(ReportStyle::quiet);
    Tuner tuner(options, database_, *provider_);
    tuner.run(three_tasks(), reporter);
    environment_ = tuner.environment();
  }

  /// Loads the kernels of all tasks with a code cache in `folder`.
  kernels::CodeSources serve(const std::string& folder, const std::vector<TuneTask>& tasks = three_tasks()) {
    jit::CompileOptions options;
    options.workers = 1;
    options.worker_executable = WAVETUNE_BINARY;
    options.cache_directory = scratch_.directory.path() / folder;
    jit::CompileService service(options);
    kernels::KernelCache cache(provider_, service, kernels::WinnerIndex(&database_, environment_),
                               kernels::UntunedPolicy::quiet,
                               [this](const jit::CompileRequest& request, const jit::CompileService& compiler) {
                                 return database_.code(compiler.key(request));
                               });
    std::vector<db::Problem> problems;
    for (const TuneTask& task : tasks) problems.push_back(task.problem);
    const int device = 0;
    cache.prepare(problems, {&device, 1});
    EXPECT_EQ(service.counters().compiled, cache.code_sources().compiled);
    return cache.code_sources();
  }

  test::Scratch scratch_;
  db::Database database_ = db::Database::open(scratch_.database(), db::OpenMode::create);
  std::shared_ptr<const hip::Provider> provider_ = hip::load_provider(hip::parse_device_spec("cpu"));
  db::Environment environment_;
};

TEST_F(TunedDatabase, ServesWithoutCompiling) {
  tune(3);
  const kernels::CodeSources sources = serve("empty");
  EXPECT_EQ(sources.compiled, 0);
  EXPECT_EQ(sources.cache, 0);
  EXPECT_GT(sources.database, 0);

  // A shape of the same family runs on the nearest winner's code; another family is not in the database.
  std::vector<TuneTask> more = three_tasks();
  more[0].problem.dims["m"] = 5;
  EXPECT_EQ(serve("empty", more).compiled, 0);
  more[0] = {&templates::get_operator("rmsnorm"), {"rmsnorm", "f32", {{"m", 4}, {"n", 32}, {"residual", 0}}}, 1.0};
  EXPECT_EQ(serve("empty", more).compiled, 1);
}

TEST_F(TunedDatabase, GoesOnToDoSoAfterMoreTuning) {
  tune(2);
  tune(6);
  EXPECT_EQ(serve("empty").compiled, 0);
  EXPECT_LE(database_.code_totals().objects, 3) << "one for each shape at most";
}

TEST_F(TunedDatabase, AnotherRunFillsInWhatIsMissing) {
  tune(2);
  {
    db::sqlite::Connection connection(scratch_.database(), db::sqlite::Access::read_write);
    connection.execute("DELETE FROM trial_code; DELETE FROM code_objects");
  }
  EXPECT_GT(serve("first").compiled, 0);
  tune(2);
  EXPECT_EQ(serve("second").compiled, 0);
}

}  // namespace
}  // namespace wavetune::search
