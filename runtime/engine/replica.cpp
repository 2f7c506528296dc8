#include "runtime/engine/replica.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "runtime/engine/step_input.h"

namespace wavetune::engine {

Replica::Replica(std::unique_ptr<Executor> executor, ReplicaOptions options)
    : executor_(std::move(executor)),
      options_(std::move(options)),
      scheduler_(options_.scheduler),
      thread_([this] { run(); }) {}

Replica::~Replica() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Replica::submit(std::unique_ptr<Sequence> sequence, EventCallback on_event) {
  const std::int64_t outstanding =
      std::min(sequence->prompt_tokens + sequence->params.max_tokens, options_.max_context);
  load_.fetch_add(outstanding, std::memory_order_relaxed);
  {
    const std::scoped_lock lock(mutex_);
    submissions_.push_back({std::move(sequence), {std::move(on_event), outstanding}});
    ++published_.waiting;
  }
  wake_.notify_one();
}

void Replica::cancel(RequestId id) {
  {
    const std::scoped_lock lock(mutex_);
    cancellations_.push_back(id);
  }
  wake_.notify_one();
}

EngineStats Replica::stats() const {
  const std::scoped_lock lock(mutex_);
  return published_;
}

void Replica::run() {
  while (take_work()) run_step();
  cancel_all();
}

bool Replica::take_work() {
  std::vector<Submission> submissions;
  std::vector<RequestId> cancellations;
  {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] {
      return stop_ || !submissions_.empty() || !cancellations_.empty() ||
             scheduler_.running() + scheduler_.waiting() > 0;
    });
    submissions.swap(submissions_);
    cancellations.swap(cancellations_);
    if (stop_) {
      submissions_.swap(submissions);  // cancel_all() ends them with the others
      return false;
    }
  }
  for (Submission& submission : submissions) {
    live_.emplace(submission.sequence->id, std::move(submission.live));
    scheduler_.add(std::move(submission.sequence));
  }
  for (RequestId id : cancellations) {
    if (scheduler_.remove(id) != nullptr) end(id, {{}, FinishReason::cancelled, -1, {}});
  }
  return true;
}

void Replica::run_step() {
  const std::vector<BatchEntry> batch = scheduler_.next_batch();
  if (batch.empty()) {
    publish_stats();
    return;
  }
  std::vector<std::int32_t> tokens;
  try {
    tokens = executor_->step(build_step(batch, options_.scheduler.page_size));
  } catch (const std::exception& error) {
    fail_running(error.what());
    publish_stats();
    return;
  }
  scheduler_.complete(batch);
  ++totals_.steps;
  const StepReport& report = executor_->last_step();
  totals_.graph_steps += report.from_graph ? 1 : 0;
  if (std::all_of(batch.begin(), batch.end(), [](const BatchEntry& entry) { return entry.count == 1; })) {
    totals_.step_launches = report.launches.total;
    totals_.layer_launches = report.launches.most;
  }
  std::size_t sample = 0;
  for (const BatchEntry& entry : batch) {
    Sequence& sequence = *entry.sequence;
    // Tokens that are computed again after a preemption count once.
    const std::int64_t prompt_done = std::min(sequence.computed, sequence.prompt_tokens);
    if (prompt_done > sequence.prompt_counted) {
      totals_.prompt_tokens += prompt_done - sequence.prompt_counted;
      sequence.prompt_counted = prompt_done;
    }
    if (entry.samples) deliver(sequence, tokens[sample++]);
  }
  publish_stats();
}

void Replica::deliver(Sequence& sequence, std::int32_t token) {
  ++totals_.generation_tokens;
  const RequestId id = sequence.id;
  TokenEvent event;
  if (!sequence.params.ignore_eos && is_eos(token)) {
    event.finish = FinishReason::stop;
    event.stop_token = token;
  } else {
    sequence.tokens.push_back(token);
    event.tokens.push_back(token);
    if (sequence.generated() >= sequence.params.max_tokens || sequence.length() >= options_.max_context) {
      event.finish = FinishReason::length;
    }
  }
  if (event.finish != FinishReason::none) {
    scheduler_.remove(id);
    end(id, std::move(event));
    return;
  }
  Live& live = live_.at(id);
  --live.outstanding;
  load_.fetch_sub(1, std::memory_order_relaxed);
  live.on_event(event);
}

void Replica::end(RequestId id, TokenEvent event) {
  auto node = live_.extract(id);
  load_.fetch_sub(node.mapped().outstanding, std::memory_order_relaxed);
  // What the caller sees in stats() from its last event on must not count this request any more.
  publish_stats();
  node.mapped().on_event(event);
}

void Replica::fail_running(const std::string& reason) {
  const auto failed = scheduler_.remove_running();
  spdlog::error("a step failed, ending its {} requests: {}", failed.size(), reason);
  for (const auto& sequence : failed) end(sequence->id, {{}, FinishReason::error, -1, reason});
}

void Replica::cancel_all() {
  std::vector<Submission> submissions;
  {
    const std::scoped_lock lock(mutex_);
    submissions.swap(submissions_);
  }
  const TokenEvent cancelled{{}, FinishReason::cancelled, -1, {}};
  while (!live_.empty()) {
    const RequestId id = live_.begin()->first;
    scheduler_.remove(id);
    end(id, cancelled);
  }
  for (const Submission& submission : submissions) submission.live.on_event(cancelled);
}

bool Replica::is_eos(std::int32_t token) const {
  return std::find(options_.eos_token_ids.begin(), options_.eos_token_ids.end(), token) != options_.eos_token_ids.end();
}

void Replica::publish_stats() {
  totals_.running = scheduler_.running();
  totals_.waiting = scheduler_.waiting();
  totals_.preemptions = scheduler_.preemptions();
  totals_.cache_usage = static_cast<double>(scheduler_.pages().used()) / static_cast<double>(scheduler_.pages().size());
  const std::scoped_lock lock(mutex_);
  published_ = totals_;
  published_.waiting += static_cast<std::int64_t>(submissions_.size());
}

}  // namespace wavetune::engine
