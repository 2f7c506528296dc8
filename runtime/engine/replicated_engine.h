// The engine over one or more replicas in this process.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/engine/replica.h"

namespace wavetune::engine {

class ReplicatedEngine final : public Engine {
 public:
  struct Limits {
    std::int64_t max_context = 0;
    std::int64_t vocab_size = 0;
  };

  /// `counters` tells the kernel lookups so far, of all replicas; it is called from any thread.
  ReplicatedEngine(std::vector<std::unique_ptr<Replica>> replicas, Limits limits,
                   std::function<kernels::LookupCounters()> counters);

  RequestId submit(std::vector<std::int32_t> prompt, SamplingParams params,
                   std::function<void(const TokenEvent&)> on_event) override;
  void cancel(RequestId id) override;
  EngineStats stats() const override;
  std::int64_t max_context() const override { return limits_.max_context; }

 private:
  Limits limits_;
  std::function<kernels::LookupCounters()> counters_;
  std::atomic<RequestId> next_{1};
  std::vector<std::unique_ptr<Replica>> replicas_;
};

}  // namespace wavetune::engine
