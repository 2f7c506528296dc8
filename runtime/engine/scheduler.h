// Which tokens of which sequences make up the next step. Pure: no device, no clock, no threads.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "runtime/engine/page_pool.h"
#include "runtime/engine/sequence.h"

namespace wavetune::engine {

struct SchedulerOptions {
  std::int64_t max_step_tokens = 256;
  std::int64_t max_sequences = 32;  ///< running at once: rows of the block table
  std::int64_t page_size = 16;
  std::int64_t pages = 1024;
};

/// Tokens [begin, begin + count) of a sequence.
struct BatchEntry {
  Sequence* sequence = nullptr;
  std::int64_t begin = 0;
  std::int64_t count = 0;
  bool samples = false;  ///< the last of them is the sequence's last token: its logits give the next one
};

/// Continuous batching, first come first served. A step takes one token of each sequence that decodes, then chunks of
/// prompts, oldest first, up to the token budget. A sequence gets pages for all the tokens it has when it is admitted;
/// decoding takes one more when a page is full. When there is none, the newest running sequence is preempted: it gives
/// its pages back, waits at the head of the queue, and computes its tokens again.
class Scheduler {
 public:
  explicit Scheduler(const SchedulerOptions& options);

  /// Tokens that one sequence can have: the whole cache.
  std::int64_t capacity() const { return options_.pages * options_.page_size; }

  void add(std::unique_ptr<Sequence> sequence);
  /// Empty when there is nothing to run. Entries point at sequences that stay where they are until finish() or
  /// remove().
  std::vector<BatchEntry> next_batch();
  /// The batch ran: its tokens are in the cache.
  void complete(const std::vector<BatchEntry>& batch);
  /// Takes a sequence out, running or waiting, and frees what it holds; nullptr for an unknown id.
  std::unique_ptr<Sequence> remove(RequestId id);
  /// All that run (a step failed), oldest first.
  std::vector<std::unique_ptr<Sequence>> remove_running();

  std::int64_t running() const { return static_cast<std::int64_t>(running_.size()); }
  std::int64_t waiting() const { return static_cast<std::int64_t>(waiting_.size()); }
  std::int64_t preemptions() const { return preemptions_; }
  const PagePool& pages() const { return pool_; }

 private:
  std::int64_t pages_for(std::int64_t tokens) const;
  bool reserve(Sequence& sequence, std::int64_t tokens);
  void release(Sequence& sequence);
  void preempt_newest();
  void admit_waiting(std::int64_t budget, std::vector<BatchEntry>& batch);

  SchedulerOptions options_;
  PagePool pool_;
  std::vector<std::int32_t> free_rows_;
  std::vector<std::unique_ptr<Sequence>> running_;  ///< in order of admission
  std::deque<std::unique_ptr<Sequence>> waiting_;
  std::int64_t preemptions_ = 0;
};

}  // namespace wavetune::engine
