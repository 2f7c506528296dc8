// One data-parallel replica: a tensor-parallel group, its scheduler, and the thread that runs its steps.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/engine/executor.h"
#include "runtime/engine/scheduler.h"

namespace wavetune::engine {

using EventCallback = std::function<void(const TokenEvent&)>;

struct ReplicaOptions {
  SchedulerOptions scheduler;
  std::int64_t max_context = 0;  ///< a sequence that reaches it ends with FinishReason::length
  std::vector<std::int64_t> eos_token_ids;
};

/// Public methods are thread-safe. The destructor stops after the step in flight; requests that are left end as
/// cancelled.
class Replica {
 public:
  Replica(std::unique_ptr<Executor> executor, ReplicaOptions options);
  ~Replica();
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  /// The request must fit (checked by the engine).
  void submit(std::unique_ptr<Sequence> sequence, EventCallback on_event);
  void cancel(RequestId id);

  /// Tokens that queued and running requests still have to go through, at most.
  std::int64_t load() const { return load_.load(std::memory_order_relaxed); }
  /// Everything but the lookup counters.
  EngineStats stats() const;

 private:
  struct Live {
    EventCallback on_event;
    std::int64_t outstanding = 0;  ///< its part of load_
  };
  struct Submission {
    std::unique_ptr<Sequence> sequence;
    Live live;
  };

  void run();
  bool take_work();  ///< waits for something to do; false when it is time to stop
  void run_step();
  void deliver(Sequence& sequence, std::int32_t token);
  void end(RequestId id, TokenEvent event);
  void fail_running(const std::string& reason);
  void cancel_all();
  bool is_eos(std::int32_t token) const;
  void publish_stats();

  std::unique_ptr<Executor> executor_;
  ReplicaOptions options_;
  std::atomic<std::int64_t> load_{0};

  // The thread's own.
  Scheduler scheduler_;
  std::map<RequestId, Live> live_;
  EngineStats totals_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::vector<Submission> submissions_;
  std::vector<RequestId> cancellations_;
  EngineStats published_;

  std::thread thread_;  // last: runs while everything above exists
};

}  // namespace wavetune::engine
