// Whole engines on CPU devices: what comes out must not depend on layout, batching, chunking or preemption.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "collector.h"
#include "db/base/error.h"
#include "golden.h"

namespace wavetune::engine {
namespace {

EngineOptions tiny_options(const std::string& device = "cpu", int tp = 1, int dp = 1) {
  EngineOptions options;
  options.model_directory = golden_folder() / "tiny-f32";
  options.device = device;
  options.tp = tp;
  options.dp = dp;
  options.max_sequences = 8;
  options.max_step_tokens = 64;
  options.cache_tokens = 8 * 160;
  options.compiler = test_compile_options();
  return options;
}

/// Eight prompts of different lengths: the golden four, and their beginnings.
std::vector<Request> eight_requests(SamplingParams params) {
  std::vector<Request> requests;
  for (const GoldenPrompt& prompt : read_golden_prompts("tiny-f32")) {
    requests.push_back({prompt.ids, params});
    requests.push_back(
        {{prompt.ids.begin(), prompt.ids.begin() + static_cast<std::ptrdiff_t>(prompt.ids.size() / 2)}, params});
  }
  return requests;
}

std::vector<std::vector<std::int32_t>> one_by_one(Engine& engine, const std::vector<Request>& requests) {
  std::vector<std::vector<std::int32_t>> tokens;
  for (const Request& request : requests) tokens.push_back(generate(engine, {request}).front());
  return tokens;
}

constexpr SamplingParams greedy64{.temperature = 0, .max_tokens = 64};

struct Variant {
  std::string name;
  std::string device;
  int tp, dp;
  std::int64_t max_step_tokens;
  std::int64_t cache_tokens;
};

class GreedyContinuation : public testing::TestWithParam<Variant> {};

/// The same 64 tokens as transformers, in every layout and however the steps are cut.
TEST_P(GreedyContinuation, AgreesWithTransformers) {
  EngineOptions options = tiny_options(GetParam().device, GetParam().tp, GetParam().dp);
  options.max_step_tokens = GetParam().max_step_tokens;
  options.cache_tokens = GetParam().cache_tokens;
  const CreatedEngine created = create_engine(options);
  std::vector<Request> requests;
  std::vector<std::vector<std::int32_t>> expected;
  for (const GoldenPrompt& prompt : read_golden_prompts("tiny-f32")) {
    requests.push_back({prompt.ids, greedy64});
    expected.push_back(prompt.greedy);
  }
  EXPECT_EQ(generate(*created.engine, requests), expected);
  const EngineStats stats = created.engine->stats();
  EXPECT_EQ(stats.prompt_tokens, 40 + 57 + 23 + 9);
  EXPECT_EQ(stats.generation_tokens, 4 * 64);
  EXPECT_EQ(stats.running + stats.waiting, 0);
  EXPECT_EQ(stats.cache_usage, 0);
  EXPECT_GT(stats.lookups_fallback, 0);
  EXPECT_EQ(stats.lookups_exact + stats.lookups_bucket + stats.lookups_nearest, 0);
  // 129 prompt tokens and 4 x 63 more need 24 pages of 16 at the end.
  EXPECT_EQ(stats.preemptions > 0, GetParam().cache_tokens < 200);
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, GreedyContinuation,
    testing::Values(Variant{"single", "cpu", 1, 1, 64, 1280}, Variant{"chunks_of_7", "cpu", 1, 1, 7, 1280},
                    Variant{"small_cache", "cpu", 1, 1, 64, 144}, Variant{"tp2", "cpu:2", 2, 1, 64, 1280},
                    Variant{"tp4", "cpu:4", 4, 1, 64, 1280}, Variant{"dp2", "cpu:2", 1, 2, 64, 1280},
                    Variant{"tp2_dp2", "cpu:4", 2, 2, 64, 1280}),
    [](const auto& param) { return param.param.name; });

TEST(Engine, BatchOfEightEqualsEightSingleRuns) {
  const CreatedEngine created = create_engine(tiny_options());
  const std::vector<Request> requests = eight_requests({.temperature = 0, .max_tokens = 32});
  EXPECT_EQ(generate(*created.engine, requests), one_by_one(*created.engine, requests));
}

TEST(Engine, SampledTokensDependOnSeedAndPromptOnly) {
  const CreatedEngine created = create_engine(tiny_options());
  const std::vector<Request> requests =
      eight_requests({.temperature = 0.8f, .top_p = 0.95f, .seed = 42, .max_tokens = 24});
  const auto batched = generate(*created.engine, requests);
  EXPECT_EQ(batched, one_by_one(*created.engine, requests));

  EngineOptions small = tiny_options();
  small.cache_tokens = 144;
  const CreatedEngine preempting = create_engine(small);
  EXPECT_EQ(generate(*preempting.engine, requests), batched);
  EXPECT_GT(preempting.engine->stats().preemptions, 0);

  std::vector<Request> other = requests;
  for (Request& request : other) request.params.seed = 43;
  EXPECT_NE(generate(*created.engine, other), batched);
}

TEST(Engine, CancelEndsARequestAndFreesItsPlace) {
  EngineOptions options = tiny_options();
  options.max_sequences = 1;
  const CreatedEngine created = create_engine(options);
  Collector collector;
  const std::vector<std::int32_t> prompt = read_golden_prompts("tiny-f32").front().ids;
  const RequestId first = created.engine->submit(prompt, {.temperature = 0, .max_tokens = 100}, collector.sink(0));
  const RequestId second = created.engine->submit(prompt, greedy64, collector.sink(1));
  collector.wait_for_tokens(0, 2);
  created.engine->cancel(second);
  created.engine->cancel(first);
  created.engine->cancel(12345);
  EXPECT_EQ(collector.wait(0).finish, FinishReason::cancelled);
  EXPECT_EQ(collector.wait(1).finish, FinishReason::cancelled);
  EXPECT_EQ(generate(*created.engine, {{prompt, greedy64}}).front().size(), 64u);
}

TEST(Engine, DestructionCancelsWhatIsLeft) {
  Collector collector;
  {
    const CreatedEngine created = create_engine(tiny_options());
    for (std::size_t i = 0; i < 12; ++i)
      created.engine->submit({1, 2, 3}, {.temperature = 0, .max_tokens = 150}, collector.sink(i));
    collector.wait_for_tokens(0, 1);
  }
  for (std::size_t i = 0; i < 12; ++i) {
    const FinishReason finish = collector.wait(i).finish;
    EXPECT_TRUE(finish == FinishReason::cancelled || finish == FinishReason::length);
  }
}

TEST(Engine, EndsAtTheContextLimit) {
  EngineOptions options = tiny_options();
  options.max_context = 32;
  const CreatedEngine created = create_engine(options);
  EXPECT_EQ(created.engine->max_context(), 32);
  EXPECT_EQ(generate(*created.engine, {{std::vector<std::int32_t>(20, 5), greedy64}}).front().size(), 12u);
}

/// A folder like tiny-f32 whose end token is the third greedy token of prompt 0.
TEST(Engine, StopsAtEndTokensUnlessToldNotTo) {
  const GoldenPrompt prompt = read_golden_prompts("tiny-f32").front();
  ASSERT_EQ(std::count(prompt.greedy.begin(), prompt.greedy.begin() + 3, prompt.greedy[3]), 0);
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "wavetune_eos_model";
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(golden_folder() / "tiny-f32" / "model.safetensors", folder / "model.safetensors",
                             std::filesystem::copy_options::overwrite_existing);
  std::filesystem::copy_file(golden_folder() / "tiny-f32" / "config.json", folder / "config.json",
                             std::filesystem::copy_options::overwrite_existing);
  std::ofstream(folder / "generation_config.json") << "{\"eos_token_id\": [" << prompt.greedy[3] << "]}";
  EngineOptions options = tiny_options();
  options.model_directory = folder;
  const CreatedEngine created = create_engine(options);
  ASSERT_THAT(created.config.eos_token_ids, testing::ElementsAre(prompt.greedy[3]));

  Collector collector;
  created.engine->submit(prompt.ids, greedy64, collector.sink(0));
  SamplingParams ignoring = greedy64;
  ignoring.ignore_eos = true;
  created.engine->submit(prompt.ids, ignoring, collector.sink(1));
  const Collector::Result stopped = collector.wait(0);
  EXPECT_EQ(stopped.finish, FinishReason::stop);
  EXPECT_EQ(stopped.stop_token, prompt.greedy[3]);
  EXPECT_THAT(stopped.tokens, testing::ElementsAreArray(prompt.greedy.begin(), prompt.greedy.begin() + 3));
  EXPECT_EQ(collector.wait(1).tokens, prompt.greedy);
  std::filesystem::remove_all(folder);
}

template <class Action>
std::string usage_error(Action action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage) << error.what();
    return error.what();
  }
  return "no error";
}

TEST(Engine, RefusesRequestsThatCannotRun) {
  EngineOptions options = tiny_options();
  options.max_context = 32;
  const CreatedEngine created = create_engine(options);
  const auto submit = [&](std::vector<std::int32_t> prompt, SamplingParams params = {}) {
    return usage_error([&] { created.engine->submit(std::move(prompt), params, [](const TokenEvent&) {}); });
  };
  EXPECT_THAT(submit({}), testing::HasSubstr("prompt"));
  EXPECT_THAT(submit({1, 128}), testing::HasSubstr("128 is outside the vocabulary of 128"));
  EXPECT_THAT(submit({-1}), testing::HasSubstr("-1"));
  EXPECT_THAT(submit(std::vector<std::int32_t>(32, 1)), testing::HasSubstr("32 tokens, but at most 31"));
  EXPECT_THAT(submit({1}, {.max_tokens = 0}), testing::HasSubstr("max_tokens"));
  EXPECT_THAT(submit({1}, {.temperature = -1}), testing::HasSubstr("temperature"));
  EXPECT_THAT(submit({1}, {.top_p = 0}), testing::HasSubstr("top_p"));
}

TEST(EngineFactory, SaysWhatDoesNotFit) {
  EXPECT_THAT(usage_error([] { create_engine(tiny_options("cpu:4", 3, 1)); }), testing::HasSubstr("does not divide"));
  EXPECT_THAT(usage_error([] { create_engine(tiny_options("cpu:2", 2, 2)); }), testing::HasSubstr("needs 4 devices"));
  EngineOptions missing = tiny_options();
  missing.model_directory = "/no/such/model";
  EXPECT_THROW(create_engine(missing), Error);
}

TEST(EngineFactory, RequireTunedRefusesWithTheList) {
  EngineOptions options = tiny_options();
  options.require_tuned = true;
  try {
    create_engine(options);
    FAIL() << "started untuned";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::incompatible);
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("untuned: "), testing::HasSubstr("cache_write/f32/")));
  }
}

}  // namespace
}  // namespace wavetune::engine
