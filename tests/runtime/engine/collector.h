// Sends requests to an engine and waits for what comes back.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "runtime/engine/engine.h"

namespace wavetune::engine {

/// Collects the events of requests and waits for their ends.
class Collector {
 public:
  struct Result {
    std::vector<std::int32_t> tokens;
    FinishReason finish = FinishReason::none;
    std::int32_t stop_token = -1;
    std::string error;
  };

  std::function<void(const TokenEvent&)> sink(std::size_t index) {
    return [this, index](const TokenEvent& event) {
      const std::scoped_lock lock(mutex_);
      Result& result = results_[index];
      EXPECT_EQ(result.finish, FinishReason::none) << "an event after the last one";
      result.tokens.insert(result.tokens.end(), event.tokens.begin(), event.tokens.end());
      result.finish = event.finish;
      result.stop_token = event.stop_token;
      result.error = event.error;
      changed_.notify_all();
    };
  }
  Result wait(std::size_t index) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(
        changed_.wait_for(lock, std::chrono::minutes(2), [&] { return results_[index].finish != FinishReason::none; }));
    return results_[index];
  }
  void wait_for_tokens(std::size_t index, std::size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(
        changed_.wait_for(lock, std::chrono::minutes(2), [&] { return results_[index].tokens.size() >= count; }));
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::size_t, Result> results_;
};

struct Request {
  std::vector<std::int32_t> prompt;
  SamplingParams params;
};

/// All at once; their tokens in the order of the requests.
inline std::vector<std::vector<std::int32_t>> generate(Engine& engine, const std::vector<Request>& requests) {
  Collector collector;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    engine.submit(requests[i].prompt, requests[i].params, collector.sink(i));
  }
  std::vector<std::vector<std::int32_t>> tokens;
  for (std::size_t i = 0; i < requests.size(); ++i) tokens.push_back(collector.wait(i).tokens);
  return tokens;
}

}  // namespace wavetune::engine
