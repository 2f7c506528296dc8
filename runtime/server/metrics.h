// Counters and histograms in Prometheus' text format, under our own names and under those of vLLM's core set, which
// dashboards, autoscalers and benchmark clients read.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/server/choice_decoder.h"

namespace wavetune::server {

/// Cumulative buckets. Not thread-safe: Metrics locks.
class Histogram {
 public:
  explicit Histogram(std::span<const double> bounds);
  void observe(double value);
  /// The lines of one histogram; `labels` without braces.
  std::string text(const std::string& name, const std::string& labels) const;

 private:
  std::vector<double> bounds_;
  std::vector<std::int64_t> counts_;  ///< one more than bounds: the last is +Inf
  double sum_ = 0;
};

/// Times of a finished choice, in seconds.
struct ChoiceTimes {
  double first_token = 0;  ///< from the request's arrival
  double total = 0;        ///< from the request's arrival
  std::int64_t prompt_tokens = 0;
  std::int64_t completion_tokens = 0;
};

/// Thread-safe, and independent of the engine: reading never waits for it.
class Metrics {
 public:
  Metrics();

  void count_response(int status);
  void count_finish(Finish finish, const ChoiceTimes& times);
  void count_cancelled() { ++cancelled_; }
  void count_failed() { ++failed_; }
  /// Between two events of one choice; one that carried several tokens counts once for each, with its share.
  void observe_inter_token(double seconds, std::int64_t tokens);

  /// `engine` is a snapshot taken `engine_age` seconds ago.
  std::string text(const std::string& model, const engine::EngineStats& engine, double engine_age) const;

 private:
  mutable std::mutex mutex_;
  std::array<std::int64_t, 6> responses_{};  ///< by hundreds of the status
  std::array<std::int64_t, 3> finished_{};   ///< by Finish
  std::atomic<std::int64_t> cancelled_{0};
  std::atomic<std::int64_t> failed_{0};
  Histogram first_token_, inter_token_, per_output_token_, total_, prompt_tokens_, completion_tokens_;
};

}  // namespace wavetune::server
