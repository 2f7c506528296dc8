#include "runtime/kernels/kernel_cache.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <tuple>
#include <vector>

#include "db/base/error.h"
#include "templates/registry.h"

namespace wavetune::kernels {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds quiet_compile_time{300};  // cache hits come back within this and need no log line
constexpr std::chrono::seconds progress_interval{5};

std::string first_lines(const std::string& text, std::size_t limit) {
  return text.size() <= limit ? text : text.substr(0, limit) + " ...";
}

}  // namespace

hipFunction_t LoadedModule::function(const std::string& name) {
  auto entry = functions_.find(name);
  if (entry == functions_.end()) entry = functions_.emplace(name, hip::get_function(api_, module_, name)).first;
  return entry->second;
}

KernelCache::KernelCache(std::shared_ptr<const hip::Provider> provider, jit::CompileService& compiler,
                         WinnerIndex winners, UntunedPolicy policy, CodeLookup stored)
    : provider_(std::move(provider)),
      compiler_(compiler),
      winners_(std::move(winners)),
      policy_(policy),
      stored_(std::move(stored)),
      prelude_(provider_->prelude()) {}

void KernelCache::set_orders(const db::Problem& problem, Orders orders) {
  const std::scoped_lock lock(mutex_);
  winners_.set_orders(problem, std::move(orders));
}

void KernelCache::prepare(std::span<const db::Problem> problems, std::span<const int> devices) {
  const std::scoped_lock lock(mutex_);
  std::set<std::string> code_keys;
  for (const db::Problem& problem : problems) code_keys.insert(resolve(problem).code_key);
  const CodeSources before = sources_;
  const Clock::time_point start = Clock::now();
  compile_missing();
  if (const CodeSources& now = sources_;
      now.database + now.cache + now.compiled > before.database + before.cache + before.compiled) {
    spdlog::info("kernels for {}: {} from the database, {} from the code cache, {} compiled, in {:.1f} s",
                 provider_->devices().front().name, now.database - before.database, now.cache - before.cache,
                 now.compiled - before.compiled, std::chrono::duration<double>(Clock::now() - start).count());
  }
  for (int device : devices) {
    for (const std::string& key : code_keys) load(key, device);
  }
}

const LoadedKernel& KernelCache::get(const db::Problem& problem, const db::Problem& lookup, int device) {
  const std::scoped_lock lock(mutex_);
  const Resolved& resolved = resolve(lookup);
  count(problem, lookup, resolved.choice);
  const auto key = std::pair(lookup, device);
  auto entry = kernels_.find(key);
  if (entry != kernels_.end()) return entry->second;
  compile_missing();
  LoadedModule& module = load(resolved.code_key, device);
  return kernels_.emplace(key, LoadedKernel{templates::find_operator(lookup.op), resolved.choice, &module})
      .first->second;
}

std::map<std::string, std::vector<std::byte>> KernelCache::code() const {
  const std::scoped_lock lock(mutex_);
  return code_;
}

LookupCounters KernelCache::counters() const {
  const std::scoped_lock lock(mutex_);
  return counters_;
}

CodeSources KernelCache::code_sources() const {
  const std::scoped_lock lock(mutex_);
  return sources_;
}

const KernelCache::Resolved& KernelCache::resolve(const db::Problem& problem) {
  auto entry = resolved_.find(problem);
  if (entry != resolved_.end()) return entry->second;
  // All devices of a provider are of one kind: what is right for the first is right for all.
  Choice choice = winners_.choose(problem, provider_->devices().front().limits);
  jit::CompileRequest request = request_for(problem, choice.config);
  std::string key = jit::program_key(request);
  if (!code_.contains(key)) {
    labels_.try_emplace(key, problem.key());
    pending_.try_emplace(key, std::move(request));
  }
  return resolved_.emplace(problem, Resolved{std::move(choice), std::move(key)}).first->second;
}

jit::CompileRequest KernelCache::request_for(const db::Problem& problem, const db::Config& config) const {
  return {std::string(hip::to_string(provider_->kind())),
          prelude_ + kernel_source(templates::get_operator(problem.op), problem, config),
          provider_->compile_options(provider_->devices().front())};
}

bool KernelCache::take_stored(const std::string& key, const jit::CompileRequest& request) {
  if (!stored_) return false;
  std::optional<std::vector<std::byte>> code = stored_(request, compiler_);
  if (!code) return false;
  code_.emplace(key, std::move(*code));
  ++sources_.database;
  return true;
}

void KernelCache::compile_missing() {
  if (pending_.empty()) return;
  const hip::DeviceInfo& device = provider_->devices().front();
  std::vector<std::pair<std::string, std::shared_future<jit::CompileResult>>> futures;
  for (auto& [key, request] : pending_) {
    if (!take_stored(key, request)) futures.emplace_back(key, compiler_.submit(std::move(request)));
  }
  pending_.clear();

  const Clock::time_point start = Clock::now();
  Clock::time_point next_line = start + quiet_compile_time;
  std::size_t done = 0;
  for (const auto& [key, future] : futures) {
    while (future.wait_until(next_line) != std::future_status::ready) {
      spdlog::info("compiling kernels for {}: {} of {} done", device.name, done, futures.size());
      next_line += progress_interval;
    }
    const jit::CompileResult& result = future.get();
    if (result.outcome != db::Outcome::ok) {
      resolved_.clear();  // so that a later call tries again instead of finding no code
      fail(ErrorKind::device, "kernel for {} ({}): {}: {}", labels_.at(key), device.arch, db::to_string(result.outcome),
           first_lines(result.log, 2000));
    }
    code_.emplace(key, result.code);
    ++done;
    ++(result.from_cache ? sources_.cache : sources_.compiled);
  }
}

LoadedModule& KernelCache::load(const std::string& code_key, int device) {
  const auto key = std::pair(code_key, device);
  auto entry = modules_.find(key);
  if (entry == modules_.end()) {
    const hip::Api& api = provider_->api();
    hip::check(api, api.hipSetDevice(device), "hipSetDevice");
    entry = modules_
                .emplace(std::piecewise_construct, std::forward_as_tuple(key),
                         std::forward_as_tuple(api, std::span<const std::byte>(code_.at(code_key))))
                .first;
  }
  return entry->second;
}

void KernelCache::count(const db::Problem& problem, const db::Problem& lookup, const Choice& choice) {
  if (choice.match == Match::fallback && policy_ == UntunedPolicy::refuse) {
    fail(ErrorKind::incompatible, "--require-tuned: no winner for {}; run `wavetune tune` for this model and device",
         lookup.key());
  }
  if (!counted_.insert(std::hash<std::string>{}(problem.key())).second) return;
  switch (match_of(choice, problem)) {
    case Match::exact:
      ++counters_.exact;
      break;
    case Match::bucket:
      ++counters_.bucket;
      spdlog::debug("shape {}: runs with the winner of its bucket {}", problem.key(), choice.from);
      break;
    case Match::nearest:
      ++counters_.nearest;
      // One line for what is looked up, not for each of the shapes that are rounded up to it.
      if (told_.insert(lookup).second) {
        spdlog::info("shape {}: runs with the winner of the nearest shape {}", lookup.key(), choice.from);
      }
      break;
    case Match::fallback:
      ++counters_.fallback;
      if (policy_ == UntunedPolicy::warn && told_.insert(lookup).second) {
        spdlog::warn("untuned shape {}: runs on its default configuration", lookup.key());
      }
      break;
  }
}

}  // namespace wavetune::kernels
