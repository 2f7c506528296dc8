// The trained demo model in bf16 against transformers: logits where an answer begins, and the answers themselves.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "collector.h"
#include "golden.h"
#include "model/tokenizer/tokenizer.h"

namespace wavetune::engine {
namespace {

const std::filesystem::path demo = std::filesystem::path(WAVETUNE_SOURCE_DIR) / "model/demo";

EngineOptions demo_options(const std::string& device, int tp, int dp) {
  EngineOptions options;
  options.model_directory = demo;
  options.device = device;
  options.tp = tp;
  options.dp = dp;
  options.max_context = 512;
  options.cache_tokens = 32 * 128;
  options.compiler = test_compile_options();
  return options;
}

/// |logits - transformers'| / |transformers'| (Euclidean), both in bf16. Where rounding turns a close call between two
/// experts the other way, a prompt may lie farther off: that may happen to one in eight, and must not change the
/// answer.
TEST(Demo, LogitsOfTheAnswersFirstTokenAgreeWithTransformers) {
  const TestGroup group = make_group("../../model/demo");
  const GoldenFile golden = read_golden("demo.golden.safetensors");
  const auto vocab = static_cast<std::size_t>(group.config.vocab_size);
  std::vector<double> errors;
  int prompts = 0;
  for (; golden.tensors.contains(fmt::format("prompt.{}.ids", prompts)); ++prompts) {
    SCOPED_TRACE(prompts);
    const auto expected = golden.get<float>(fmt::format("prompt.{}.bf16", prompts));
    const std::vector<float> logits =
        run_prompt(*group.executor, golden.get<std::int32_t>(fmt::format("prompt.{}.ids", prompts)), 64);
    const float* last = logits.data() + logits.size() - vocab;
    double difference = 0, size = 0;
    for (std::size_t i = 0; i < vocab; ++i) {
      difference += std::pow(static_cast<double>(last[i]) - expected[i], 2);
      size += std::pow(static_cast<double>(expected[i]), 2);
    }
    errors.push_back(std::sqrt(difference / size));
    EXPECT_EQ(argmax(last, group.config.vocab_size), argmax(expected.data(), group.config.vocab_size));
  }
  ASSERT_EQ(prompts, 17);
  std::sort(errors.begin(), errors.end());
  EXPECT_LE(errors[errors.size() / 2], 1e-2);
  EXPECT_LE(errors[errors.size() * 7 / 8], 2e-2);
  EXPECT_LE(errors.back(), 5e-2);
}

class DemoAnswers : public testing::TestWithParam<std::pair<int, int>> {};

/// Greedy answers to all held-out questions, batched: as many right ones as transformers gives, up to one.
TEST_P(DemoAnswers, AreRightAsOftenAsThoseOfTransformers) {
  const auto [tp, dp] = GetParam();
  std::ifstream file(demo / "eval.json");
  const nlohmann::json questions = nlohmann::json::parse(file).at("questions");
  const CreatedEngine created = create_engine(demo_options("cpu:" + std::to_string(tp * dp), tp, dp));
  std::vector<Request> requests;
  for (const auto& question : questions) {
    requests.push_back(
        {question.at("prompt_ids").get<std::vector<std::int32_t>>(), {.temperature = 0, .max_tokens = 32}});
  }
  const auto answers = generate(*created.engine, requests);
  const auto tokenizer = model::Tokenizer::load(demo);
  int ours = 0, theirs = 0;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    ours += tokenizer.decode(answers[i], model::SpecialTokens::skip) == questions[i].at("answer") ? 1 : 0;
    theirs += questions[i].at("right").get<bool>() ? 1 : 0;
  }
  RecordProperty("ours", ours);
  RecordProperty("theirs", theirs);
  EXPECT_GT(theirs, static_cast<int>(questions.size()) * 9 / 10);
  EXPECT_NEAR(ours, theirs, 1);
}

INSTANTIATE_TEST_SUITE_P(Layouts, DemoAnswers, testing::Values(std::pair{1, 1}, std::pair{2, 2}),
                         [](const auto& param) {
                           return "tp" + std::to_string(param.param.first) + "_dp" + std::to_string(param.param.second);
                         });

}  // namespace
}  // namespace wavetune::engine
