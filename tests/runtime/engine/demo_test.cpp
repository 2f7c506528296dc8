// The trained demo model in bf16 against transformers: logits where an answer begins, and the answers themselves.
#include <gtest/gtest.h>

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

/// transformers in bf16 itself is up to 2.0e-2 away from its own float32 here (tests/golden/make_demo.py prints it).
TEST(Demo, LogitsOfTheAnswersFirstTokenAgreeWithTransformers) {
  const TestGroup group = make_group("../../model/demo");
  const GoldenFile golden = read_golden("demo.golden.safetensors");
  const auto vocab = static_cast<std::size_t>(group.config.vocab_size);
  for (int prompt = 0; golden.tensors.contains("prompt." + std::to_string(prompt) + ".ids"); ++prompt) {
    SCOPED_TRACE(prompt);
    const std::string name = "prompt." + std::to_string(prompt);
    const auto expected = golden.get<float>(name + ".bf16");
    const std::vector<float> logits = run_prompt(*group.executor, golden.get<std::int32_t>(name + ".ids"), 64);
    const float* last = logits.data() + logits.size() - vocab;
    double difference = 0, largest = 0;
    for (std::size_t i = 0; i < vocab; ++i) {
      ASSERT_TRUE(std::isfinite(last[i]));
      difference = std::max(difference, std::abs(static_cast<double>(last[i]) - expected[i]));
      largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
    }
    EXPECT_LE(difference / largest, 2e-2);
    EXPECT_EQ(argmax(last, group.config.vocab_size), argmax(expected.data(), group.config.vocab_size));
  }
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
