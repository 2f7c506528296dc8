// Serving with the kernels of an MI355X, on the CPU's imitation of its instructions: weights lie in the order that the
// winners read.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "golden.h"
#include "runtime/jit/compile_service.h"
#include "runtime/kernels/coverage.h"
#include "runtime/kernels/weight_orders.h"
#include "templates/registry.h"

namespace wavetune::engine {
namespace {

const templates::DeviceLimits mi355x{
    .arch = "gfx950", .wave_size = 64, .max_block_threads = 1024, .lds_bytes = 163840, .cu_count = 256};

class Gfx950Kernels : public testing::Test {
 protected:
  Gfx950Kernels()
      : path_(std::filesystem::path(testing::TempDir()) / "wavetune_gfx950_kernels.db"),
        provider_(std::make_shared<AlteredProvider>(test_provider(), mi355x)),
        compiler_(test_compile_options()) {
    std::filesystem::remove(path_);
    database_.emplace(db::Database::open(path_, db::OpenMode::create));
  }
  ~Gfx950Kernels() override {
    database_.reset();
    std::filesystem::remove(path_);
  }

  db::Environment environment() const { return hip::environment_of(*provider_, provider_->devices().front()); }

  /// Winners for all products of the program at `tokens`: the default configurations, reading shuffled weights.
  void add_shuffled_winners(const model::Program& program, std::int64_t tokens) {
    for (const auto& [problem, count] : model::problems_of(program, {tokens, tokens, 256, 1024})) {
      if (problem.op != "gemm" && problem.op != "grouped_gemm") continue;
      const templates::Operator& op = templates::get_operator(problem.op);
      db::Trial trial;
      trial.problem = problem;
      trial.config = op.default_config(problem, mi355x);
      if (!trial.config.contains("shuffled")) continue;
      trial.config["shuffled"] = 1;
      trial.source_hash = templates::source_hash(op);
      trial.median_us = 5;
      trial.samples_us = {5};
      database_->set_current_source(problem.op, trial.source_hash);
      database_->add_trial(environment(), trial);
    }
  }

  std::vector<float> logits(const GoldenPrompt& prompt, const db::Database* database, kernels::WeightOrders* orders) {
    kernels::KernelCache cache(provider_, compiler_, kernels::WinnerIndex(database, environment()),
                               kernels::UntunedPolicy::quiet);
    const TestGroup group = make_group("tiny-bf16", {.provider = provider_, .kernels = &cache});
    if (orders != nullptr) *orders = kernels::settle_weight_orders(group.executor->program(), mi355x, cache);
    return run_prompt(*group.executor, prompt.ids, 16);
  }

  std::filesystem::path path_;
  std::shared_ptr<const hip::Provider> provider_;
  jit::CompileService compiler_;
  std::optional<db::Database> database_;
};

TEST_F(Gfx950Kernels, GiveTheSameLogitsWithWeightsInRowsAndShuffled) {
  const GoldenPrompt prompt = read_golden_prompts("tiny-bf16").front();
  const std::vector<float> rows = logits(prompt, nullptr, nullptr);
  ASSERT_FALSE(rows.empty());
  for (const float value : rows) ASSERT_TRUE(std::isfinite(value));
  // The first positions come before many close calls between experts (tests/golden/README.md).
  double difference = 0, largest = 0;
  const auto vocab = static_cast<std::size_t>(prompt.logits.size() / prompt.ids.size());
  for (std::size_t i = 0; i < 2 * vocab; ++i) {
    difference = std::max(difference, std::abs(static_cast<double>(rows[i]) - prompt.logits[i]));
    largest = std::max(largest, std::abs(static_cast<double>(prompt.logits[i])));
  }
  EXPECT_LE(difference, 0.1 * largest) << "transformers' bf16 is itself 4 to 6 % away from its float32";

  const model::ModelConfig config = model::load_config(golden_folder() / "tiny-bf16");
  const model::Program program =
      model::build_program(config, {.tp = 1, .page_size = 16, .max_sequences = 8, .max_context = 256});
  for (const std::int64_t tokens : {1, 16}) add_shuffled_winners(program, tokens);
  kernels::WeightOrders orders;
  const std::vector<float> shuffled = logits(prompt, &*database_, &orders);
  EXPECT_GE(orders.size(), 10u) << "no weight was moved: the test shows nothing";
  EXPECT_EQ(shuffled, rows) << "the same products in the same order";
}

}  // namespace
}  // namespace wavetune::engine
