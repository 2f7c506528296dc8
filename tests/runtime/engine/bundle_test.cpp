// Serving from a frozen bundle: nothing is compiled, and what does not fit this machine or build is refused.
#include "db/transfer/bundle.h"

#include <gmock/gmock.h>

#include "collector.h"
#include "db/base/error.h"
#include "db/base/file.h"
#include "golden.h"
#include "runtime/engine/replica_sizes.h"
#include "runtime/kernels/weight_orders.h"
#include "runtime/process/subprocess.h"
#include "templates/registry.h"

namespace wavetune::engine {
namespace {

class FrozenBundle : public testing::Test {
 protected:
  EngineOptions options() const {
    EngineOptions result;
    result.model_directory = golden_folder() / "tiny-f32";
    result.device = "cpu";
    result.max_sequences = 4;
    result.max_step_tokens = 16;
    result.max_context = 64;
    result.cache_tokens = 4 * 64;
    result.compiler = test_compile_options();
    return result;
  }
  /// No worker can be started and nothing is in the code cache.
  EngineOptions without_compiler(const std::filesystem::path& bundle) const {
    EngineOptions result = options();
    result.database = bundle;
    result.compiler.worker_executable = "/nonexistent/wavetune";
    result.compiler.cache_directory = directory_.path() / "empty";
    return result;
  }

  /// Default configurations as winners of all that `options` serves but for one operator, with the code of all.
  db::Bundle bundle() const {
    const auto provider = hip::load_provider(hip::parse_device_spec("cpu"));
    const hip::DeviceInfo& device = provider->devices().front();
    const model::ModelConfig config = model::load_config(options().model_directory);
    const ReplicaSizes sizes = size_replica(options(), config, *provider, {});
    const std::vector<db::Problem> problems = kernels::serving_problems(sizes.program, sizes.lookup_shapes());
    db::Bundle made;
    made.environment = hip::environment_of(*provider, device);
    for (const db::Problem& problem : problems) {
      const templates::Operator& op = templates::get_operator(problem.op);
      if (problem.op == "silu_mul") continue;
      made.winners.push_back({problem, op.default_config(problem, device.limits), 1, {}, templates::source_hash(op)});
    }
    db::Layout layout;
    layout.model_id = config.id;
    layout.model_name = config.name;
    layout.created_at = "2026-12-01T00:00:00.000Z";
    made.layouts.push_back(layout);
    jit::CompileService compiler(test_compile_options());
    kernels::KernelCache cache(provider, compiler, kernels::WinnerIndex(made.winners), kernels::UntunedPolicy::quiet);
    kernels::settle_weight_orders(sizes.program, device.limits, cache);
    cache.prepare(problems, {});
    made.code = cache.code();
    return made;
  }

  std::filesystem::path write(const db::Bundle& bundle) const {
    const auto file = directory_.path() / "tuned.wtb";
    write_file_atomic(file, db::pack_bundle(bundle));
    return file;
  }

  process::TemporaryDirectory directory_;
};

TEST_F(FrozenBundle, ServesWithoutACompiler) {
  const auto file = write(bundle());
  const CreatedEngine created = create_engine(without_compiler(file));
  EXPECT_GT(created.coverage.exact, 0);
  EXPECT_GT(created.coverage.fallback, 0) << "shapes without a winner are in it too";
  EXPECT_EQ(created.layout.source, LayoutSource::stored);
  EXPECT_THAT(created.tuning, testing::HasSubstr("frozen bundle " + db::read_bundle(file).hash));
  const auto from_bundle = generate(*created.engine, {{{5, 6, 7}, {.temperature = 0, .max_tokens = 6}}});
  EXPECT_EQ(from_bundle,
            generate(*create_engine(options()).engine, {{{5, 6, 7}, {.temperature = 0, .max_tokens = 6}}}));
}

TEST_F(FrozenBundle, WithoutItsCodeTheCompilerIsNeeded) {
  db::Bundle stripped = bundle();
  stripped.code.erase(stripped.code.begin());
  EXPECT_THROW(create_engine(without_compiler(write(stripped))), Error);
}

TEST_F(FrozenBundle, AnotherArchitectureIsRefused) {
  db::Bundle other = bundle();
  other.environment.arch = "gfx950";
  other.environment.device = "AMD Instinct MI355X";
  try {
    create_engine(without_compiler(write(other)));
    FAIL() << "started";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::incompatible);
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("tuned.wtb"), testing::HasSubstr("gfx950"),
                                             testing::HasSubstr("this device is cpu-")));
  }
}

TEST_F(FrozenBundle, ADamagedOneIsRefused) {
  std::string bytes = db::pack_bundle(bundle());
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  const auto file = directory_.path() / "tuned.wtb";
  write_file_atomic(file, bytes);
  try {
    create_engine(without_compiler(file));
    FAIL() << "started";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_data);
    EXPECT_THAT(error.what(), testing::HasSubstr("changed or cut off"));
  }
}

/// Code of other kernel sources has another name: it is not found, whatever the bundle holds.
TEST_F(FrozenBundle, WinnersOfOtherSourcesAreSaidAndRefusedWhenTunedIsRequired) {
  db::Bundle other = bundle();
  for (db::Winner& winner : other.winners) winner.source_hash = "earlier";
  other.code.clear();
  EngineOptions served = options();
  served.database = write(other);
  EXPECT_THAT(create_engine(served).tuning,
              testing::HasSubstr(fmt::format("{} of them of other kernel sources", other.winners.size())));
  served.require_tuned = true;
  try {
    create_engine(served);
    FAIL() << "started";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::incompatible);
    EXPECT_THAT(error.what(), testing::HasSubstr("other kernel sources"));
  }
}

}  // namespace
}  // namespace wavetune::engine
