// A replica whose device fails.
#include "runtime/engine/replica.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "golden.h"

namespace wavetune::engine {
namespace {

std::atomic<bool> launches_fail{false};
decltype(hip::Api::hipModuleLaunchKernel) real_launch = nullptr;

hipError_t launch_or_fail(hipFunction_t function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                          unsigned bz, unsigned lds, hipStream_t stream, void** parameters, void** extra) {
  if (launches_fail) return hipErrorLaunchFailure;
  return real_launch(function, gx, gy, gz, bx, by, bz, lds, stream, parameters, extra);
}

/// Tokens and the last event of one request.
std::pair<std::vector<std::int32_t>, TokenEvent> run(Replica& replica, RequestId id,
                                                     const std::vector<std::int32_t>& prompt) {
  auto sequence = std::make_unique<Sequence>();
  sequence->id = id;
  sequence->tokens = prompt;
  sequence->prompt_tokens = sequence->length();
  sequence->params = {.temperature = 0, .max_tokens = 64};
  std::vector<std::int32_t> tokens;
  std::promise<TokenEvent> last;
  replica.submit(std::move(sequence), [&](const TokenEvent& event) {
    tokens.insert(tokens.end(), event.tokens.begin(), event.tokens.end());
    if (event.finish != FinishReason::none) last.set_value(event);
  });
  const TokenEvent event = last.get_future().get();
  return {tokens, event};
}

TEST(Replica, AFailedStepEndsItsRequestsAndTheNextOnesRun) {
  const auto provider = std::make_shared<AlteredProvider>(test_provider(), [](hip::Api& api) {
    real_launch = api.hipModuleLaunchKernel;
    api.hipModuleLaunchKernel = launch_or_fail;
  });
  TestGroup group = make_group("tiny-f32", {.provider = provider});
  Replica replica(std::move(group.executor),
                  {{.max_step_tokens = 64, .max_sequences = 8, .page_size = 16, .pages = 64}, 256, {}});
  const GoldenPrompt prompt = read_golden_prompts("tiny-f32").front();

  EXPECT_EQ(run(replica, 1, prompt.ids).first, prompt.greedy);
  launches_fail = true;
  const auto [tokens, event] = run(replica, 2, prompt.ids);
  EXPECT_TRUE(tokens.empty());
  EXPECT_EQ(event.finish, FinishReason::error);
  EXPECT_THAT(event.error,
              testing::AllOf(testing::HasSubstr("embed_tokens"), testing::HasSubstr("hipErrorLaunchFailure")));
  launches_fail = false;
  EXPECT_EQ(run(replica, 3, prompt.ids).first, prompt.greedy);
  EXPECT_EQ(replica.load(), 0);
  EXPECT_EQ(replica.stats().cache_usage, 0);
}

}  // namespace
}  // namespace wavetune::engine
