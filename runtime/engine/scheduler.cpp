#include "runtime/engine/scheduler.h"

#include <algorithm>

#include "db/base/error.h"

namespace wavetune::engine {
namespace {

BatchEntry take(Sequence& sequence, std::int64_t budget) {
  const std::int64_t count = std::min(sequence.remaining(), budget);
  return {&sequence, sequence.computed, count, count == sequence.remaining()};
}

}  // namespace

Scheduler::Scheduler(const SchedulerOptions& options) : options_(options), pool_(options.pages) {
  for (std::int64_t row = options_.max_sequences; row-- > 0;) free_rows_.push_back(static_cast<std::int32_t>(row));
}

void Scheduler::add(std::unique_ptr<Sequence> sequence) {
  if (sequence->length() > capacity()) {
    fail(ErrorKind::usage, "{} tokens do not fit in the cache of {} tokens; raise --cache-tokens", sequence->length(),
         capacity());
  }
  waiting_.push_back(std::move(sequence));
}

std::vector<BatchEntry> Scheduler::next_batch() {
  std::vector<BatchEntry> batch;
  std::int64_t budget = options_.max_step_tokens;
  const std::int64_t preemptions_before = preemptions_;

  // Decoding sequences, oldest first. preempt_newest() only takes sequences behind the current one, or the current one
  // itself, so entries that are in the batch already stay valid.
  for (std::size_t i = 0; i < running_.size() && budget > 0; ++i) {
    Sequence& sequence = *running_[i];
    if (sequence.remaining() != 1) continue;
    bool reserved = reserve(sequence, sequence.length());
    while (!reserved && running_.size() > i + 1) {
      preempt_newest();
      reserved = reserve(sequence, sequence.length());
    }
    if (!reserved) {
      preempt_newest();
      break;
    }
    batch.push_back(take(sequence, 1));
    --budget;
  }

  for (const auto& sequence : running_) {
    if (budget == 0) break;
    if (sequence->remaining() <= 1) continue;
    batch.push_back(take(*sequence, budget));
    budget -= batch.back().count;
  }

  if (preemptions_ == preemptions_before) admit_waiting(budget, batch);
  return batch;
}

void Scheduler::admit_waiting(std::int64_t budget, std::vector<BatchEntry>& batch) {
  while (budget > 0 && !waiting_.empty() && !free_rows_.empty()) {
    Sequence& sequence = *waiting_.front();
    if (!reserve(sequence, sequence.length())) return;
    sequence.row = free_rows_.back();
    free_rows_.pop_back();
    running_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
    batch.push_back(take(sequence, budget));
    budget -= batch.back().count;
  }
}

void Scheduler::complete(const std::vector<BatchEntry>& batch) {
  for (const BatchEntry& entry : batch) entry.sequence->computed = entry.begin + entry.count;
}

std::unique_ptr<Sequence> Scheduler::remove(RequestId id) {
  const auto has_id = [id](const std::unique_ptr<Sequence>& sequence) { return sequence->id == id; };
  if (auto found = std::find_if(running_.begin(), running_.end(), has_id); found != running_.end()) {
    std::unique_ptr<Sequence> sequence = std::move(*found);
    running_.erase(found);
    release(*sequence);
    return sequence;
  }
  if (auto found = std::find_if(waiting_.begin(), waiting_.end(), has_id); found != waiting_.end()) {
    std::unique_ptr<Sequence> sequence = std::move(*found);
    waiting_.erase(found);
    return sequence;
  }
  return nullptr;
}

std::vector<std::unique_ptr<Sequence>> Scheduler::remove_running() {
  for (const auto& sequence : running_) release(*sequence);
  return std::exchange(running_, {});
}

std::int64_t Scheduler::pages_for(std::int64_t tokens) const {
  return (tokens + options_.page_size - 1) / options_.page_size;
}

bool Scheduler::reserve(Sequence& sequence, std::int64_t tokens) {
  const std::int64_t missing = pages_for(tokens) - static_cast<std::int64_t>(sequence.pages.size());
  if (missing > pool_.free()) return false;
  for (std::int64_t i = 0; i < missing; ++i) sequence.pages.push_back(*pool_.take());
  return true;
}

void Scheduler::release(Sequence& sequence) {
  pool_.give_back(sequence.pages);
  sequence.pages.clear();
  sequence.computed = 0;
  if (sequence.row >= 0) free_rows_.push_back(sequence.row);
  sequence.row = -1;
}

void Scheduler::preempt_newest() {
  std::unique_ptr<Sequence> victim = std::move(running_.back());
  running_.pop_back();
  release(*victim);
  waiting_.push_front(std::move(victim));
  ++preemptions_;
}

}  // namespace wavetune::engine
