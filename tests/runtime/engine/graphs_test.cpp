// Steps replayed from graphs against the same steps launched kernel by kernel: equal bit for bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "collector.h"
#include "db/base/error.h"
#include "golden.h"

namespace wavetune::engine {
namespace {

/// Tokens and logits of a step.
struct Outcome {
  std::vector<std::int32_t> tokens;
  std::vector<float> logits;
  bool from_graph;
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// A batch of `rows` sequences: the prompts at once, then `decoded` steps of one token each, sampled with temperature.
/// What changes between equal shapes: tokens, positions, slots, pages, sampling parameters.
std::vector<Outcome> decode(Executor& executor, std::int64_t rows, std::int64_t decoded) {
  const ExecutorOptions& options = executor.options();
  std::vector<Sequence> sequences(static_cast<std::size_t>(rows));
  std::vector<Outcome> outcomes;
  const auto run = [&](std::int64_t begin_from_end) {
    StepInput step;
    for (Sequence& sequence : sequences) {
      const std::int64_t begin = begin_from_end == 0 ? 0 : sequence.length() - begin_from_end;
      const std::int64_t first = append_tokens(step, sequence, begin, sequence.length() - begin, options.page_size);
      append_sample(step, first + sequence.length() - begin - 1, {.temperature = 0.8f, .seed = 7}, sequence.length());
    }
    const std::vector<std::int32_t> tokens = executor.step(step);
    outcomes.push_back({tokens, executor.logits(), executor.last_step().from_graph});
    for (std::size_t row = 0; row < sequences.size(); ++row) sequences[row].tokens.push_back(tokens[row]);
  };
  for (std::int64_t row = 0; row < rows; ++row) {
    Sequence& sequence = sequences[static_cast<std::size_t>(row)];
    sequence.row = static_cast<std::int32_t>(rows - row);
    sequence.prompt_tokens = 5 + row;
    for (std::int64_t i = 0; i < sequence.prompt_tokens; ++i)
      sequence.tokens.push_back(static_cast<std::int32_t>(3 + row + i));
    // Pages in no order, each sequence its own.
    for (std::int32_t page = 0; page < 4; ++page)
      sequence.pages.push_back(static_cast<std::int32_t>((page * 7 + row * 5 + 3) % options.pages));
  }
  run(0);
  for (std::int64_t step = 0; step < decoded; ++step) run(1);
  return outcomes;
}

struct Case {
  const char* model;
  int tp;
};

class StepGraphs : public testing::TestWithParam<Case> {};

TEST_P(StepGraphs, GiveTheSameBitsAsLaunches) {
  const auto [model, tp] = GetParam();
  const TestGroup launched = make_group(model, {.tp = tp, .graphs = Graphs::off});
  const TestGroup replayed = make_group(model, {.tp = tp, .graphs = Graphs::on});
  for (const std::int64_t rows : {1, 3, 1}) {
    SCOPED_TRACE("batch of " + std::to_string(rows));
    constexpr std::int64_t decoded = 40;  // past two context buckets
    const std::vector<Outcome> expected = decode(*launched.executor, rows, decoded);
    const std::vector<Outcome> got = decode(*replayed.executor, rows, decoded);
    int from_graphs = 0;
    for (std::size_t step = 0; step < expected.size(); ++step) {
      EXPECT_EQ(got[step].tokens, expected[step].tokens) << "step " << step;
      EXPECT_TRUE(same_bits(got[step].logits, expected[step].logits)) << "step " << step;
      EXPECT_FALSE(expected[step].from_graph);
      from_graphs += got[step].from_graph ? 1 : 0;
    }
    EXPECT_GE(from_graphs, decoded - 3) << "all but the first step of each context bucket";
  }
}

INSTANTIATE_TEST_SUITE_P(Models, StepGraphs,
                         testing::Values(Case{"tiny-bf16", 1}, Case{"tiny-f32", 1}, Case{"tiny-bf16", 2}),
                         [](const auto& param) {
                           std::string name = param.param.model + std::string("_tp") + std::to_string(param.param.tp);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

/// The first call succeeds, so that the step before is what it would be without graphs.
std::shared_ptr<const hip::Provider> provider_that_cannot(const std::function<void(hip::Api&)>& alter) {
  return std::make_shared<AlteredProvider>(test_provider(), alter);
}

TEST(StepGraphsThatFail, LeaveTheEngineLaunchingKernelByKernel) {
  const TestGroup reference = make_group("tiny-bf16", {.graphs = Graphs::off});
  const std::vector<Outcome> expected = decode(*reference.executor, 1, 5);
  const std::vector<std::function<void(hip::Api&)>> alterations = {
      [](hip::Api& api) {
        api.hipStreamBeginCapture = [](hipStream_t, hipStreamCaptureMode) { return hipErrorNotSupported; };
      },
      [](hip::Api& api) {
        api.hipGraphInstantiate = [](hipGraphExec_t*, hipGraph_t, hipGraphNode_t*, char*, size_t) {
          return hipErrorOutOfMemory;
        };
      }};
  for (const auto& alteration : alterations) {
    const auto provider = provider_that_cannot(alteration);
    const TestGroup group = make_group("tiny-bf16", {.provider = provider});
    const std::vector<Outcome> got = decode(*group.executor, 1, 5);
    for (std::size_t step = 0; step < expected.size(); ++step) {
      EXPECT_TRUE(same_bits(got[step].logits, expected[step].logits)) << "step " << step;
      EXPECT_FALSE(got[step].from_graph);
    }
    EXPECT_FALSE(group.executor->uses_graphs());
    const TestGroup insisting = make_group("tiny-bf16", {.provider = provider, .graphs = Graphs::on});
    EXPECT_THROW(decode(*insisting.executor, 1, 5), Error);
  }
}

TEST(LaunchCounts, CountEveryLayer) {
  const TestGroup group = make_group("tiny-bf16");
  const LaunchCounts counts = group.executor->decode_launches();
  EXPECT_EQ(counts.layers, group.config.num_hidden_layers);
  EXPECT_GE(counts.least, 10);
  EXPECT_GE(counts.most, counts.least);
  EXPECT_GE(counts.total, counts.outside + counts.layers * counts.least);
  EXPECT_LE(counts.total, counts.outside + counts.layers * counts.most);
  EXPECT_THAT(counts.summary(), testing::HasSubstr("launches a layer"));
  decode(*group.executor, 1, 2);
  EXPECT_EQ(group.executor->last_step().launches.layers, counts.layers);
}

TEST(Engine, CountsStepsFromGraphs) {
  EngineOptions options;
  options.model_directory = golden_folder() / "tiny-f32";
  options.device = "cpu";
  options.max_sequences = 4;
  options.max_step_tokens = 64;
  options.cache_tokens = 4 * 160;
  options.compiler = test_compile_options();
  std::vector<std::vector<std::int32_t>> tokens;
  for (const Graphs graphs : {Graphs::automatic, Graphs::off}) {
    options.graphs = graphs;
    const CreatedEngine created = create_engine(options);
    EXPECT_EQ(created.graphs, graphs != Graphs::off);
    EXPECT_GT(created.decode_launches.total, 0);
    tokens.push_back(generate(*created.engine, {{{5, 6, 7}, {.temperature = 0, .max_tokens = 12}}}).front());
    const EngineStats stats = created.engine->stats();
    EXPECT_EQ(stats.graph_steps > 0, graphs != Graphs::off);
    EXPECT_LT(stats.graph_steps, stats.steps);
    EXPECT_EQ(stats.layer_launches, created.decode_launches.most);
  }
  EXPECT_EQ(tokens[0], tokens[1]);
}

}  // namespace
}  // namespace wavetune::engine
