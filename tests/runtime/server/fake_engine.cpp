#include "fake_engine.h"

#include "db/base/error.h"

namespace wavetune::server {

FakeEngine::~FakeEngine() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

engine::RequestId FakeEngine::submit(std::vector<std::int32_t> prompt, engine::SamplingParams params,
                                     std::function<void(const engine::TokenEvent&)> on_event) {
  if (prompt.empty()) fail(ErrorKind::usage, "the prompt is empty");
  if (static_cast<std::int64_t>(prompt.size()) >= max_context()) {
    fail(ErrorKind::usage, "the prompt has {} tokens, the limit is {}", prompt.size(), max_context());
  }
  const std::scoped_lock lock(mutex_);
  submitted_.push_back({std::move(prompt), params});
  const engine::RequestId id = submitted_.size();
  threads_.emplace_back([this, id, script = script_, pause = pause_, on_event = std::move(on_event)] {
    emit(id, script, pause, on_event);
  });
  return id;
}

void FakeEngine::emit(engine::RequestId id, const std::vector<engine::TokenEvent>& script,
                      std::chrono::milliseconds pause, const std::function<void(const engine::TokenEvent&)>& on_event) {
  for (size_t at = 0;;) {
    std::this_thread::sleep_for(pause);
    bool cancelled = false;
    {
      const std::scoped_lock lock(mutex_);
      cancelled = stopping_ || cancelled_.contains(id);
    }
    if (cancelled) return on_event({{}, engine::FinishReason::cancelled, -1, ""});
    if (held) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    on_event(script[at]);
    if (script[at].finish != engine::FinishReason::none) return;
    at = std::min(at + 1, script.size() - 1);
  }
}

void FakeEngine::cancel(engine::RequestId id) {
  const std::scoped_lock lock(mutex_);
  cancelled_.insert(id);
  changed_.notify_all();
}

engine::EngineStats FakeEngine::stats() const {
  while (stats_hang) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  engine::EngineStats stats;
  stats.running = 3;
  stats.generation_tokens = 1234;
  stats.lookups_exact = 2;
  stats.lookups_bucket = 3;
  stats.lookups_nearest = 5;
  stats.lookups_fallback = 7;
  return stats;
}

void FakeEngine::set_script(std::vector<engine::TokenEvent> script, std::chrono::milliseconds pause) {
  const std::scoped_lock lock(mutex_);
  script_ = std::move(script);
  pause_ = pause;
}

std::vector<FakeEngine::Submitted> FakeEngine::submitted() const {
  const std::scoped_lock lock(mutex_);
  return submitted_;
}

bool FakeEngine::wait_for_cancelled(size_t count) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds(10), [&] { return cancelled_.size() >= count; });
}

std::vector<engine::TokenEvent> script_of(const model::Tokenizer& tokenizer, const std::string& text,
                                          engine::FinishReason finish) {
  std::vector<engine::TokenEvent> script;
  for (const model::TokenId id : tokenizer.encode(text, model::AddedTokensIn::recognised)) {
    script.push_back({{id}, engine::FinishReason::none, -1, ""});
  }
  script.push_back({{}, finish, -1, ""});
  return script;
}

}  // namespace wavetune::server
