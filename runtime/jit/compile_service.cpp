#include "runtime/jit/compile_service.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "db/base/error.h"
#include "runtime/jit/code_cache.h"
#include "runtime/jit/compile_worker.h"
#include "runtime/jit/includes.h"
#include "runtime/jit/worker_setup.h"
#include "runtime/process/scratch_folder.h"

namespace wavetune::jit {
namespace {

struct Job {
  std::string key;
  CompileRequest request;
  std::shared_ptr<const WorkerSetup> setup;
  std::promise<CompileResult> promise;
};

int worker_count(int wanted) {
  if (wanted > 0) return wanted;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

class CompileService::Impl {
 public:
  explicit Impl(CompileOptions options)
      : options_(std::move(options)),
        cache_(options_.cache_directory.empty() ? default_cache_directory() : options_.cache_directory,
               options_.cache_limit_bytes) {
    // Each thread owns a worker process; the process dies with the thread.
    for (int i = 0; i < worker_count(options_.workers); ++i) threads_.emplace_back([this] { serve(); });
  }

  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    for (const auto& job : queue_) {
      job->promise.set_exception(
          std::make_exception_ptr(Error(ErrorKind::internal, "the compile service was stopped before this compile")));
    }
  }

  std::shared_future<CompileResult> submit(CompileRequest request) {
    std::shared_ptr<const WorkerSetup> setup = setup_of(request.device);
    const std::string key = key_of(request, *setup);
    const std::lock_guard lock(mutex_);
    ++counters_.submitted;
    if (const auto found = in_flight_.find(key); found != in_flight_.end()) {
      ++counters_.shared;
      return found->second;
    }
    auto job = std::make_unique<Job>();
    job->key = key;
    job->request = std::move(request);
    job->setup = std::move(setup);
    std::shared_future<CompileResult> future = job->promise.get_future().share();
    in_flight_.emplace(key, future);
    queue_.push_back(std::move(job));
    wake_.notify_one();
    return future;
  }

  int workers() const { return static_cast<int>(threads_.size()); }

  CompileCounters counters() const {
    const std::lock_guard lock(mutex_);
    return counters_;
  }

  std::string key(const CompileRequest& request) { return key_of(request, *setup_of(request.device)); }

 private:
  static std::string key_of(const CompileRequest& request, const WorkerSetup& setup) {
    const std::string includes = includes_fingerprint(request.source, request.options);
    return CodeCache::key(includes.empty() ? setup.identity : setup.identity + "\n" + includes, request.source,
                          request.options);
  }

  std::shared_ptr<const WorkerSetup> setup_of(const std::string& device) {
    const std::lock_guard lock(setup_mutex_);
    auto& setup = setups_[device];
    if (!setup) setup = std::make_shared<const WorkerSetup>(worker_setup(device));
    return setup;
  }

  /// A name for the next request's folder.
  std::filesystem::path next_folder() {
    const std::lock_guard lock(setup_mutex_);
    if (!scratch_) scratch_.emplace("wavetune-compile");
    return scratch_->path() / std::to_string(folders_++);
  }

  void tally(std::int64_t CompileCounters::*counter) {
    const std::lock_guard lock(mutex_);
    ++(counters_.*counter);
  }

  void serve() {
    CompileWorker worker(options_.worker_executable, options_.memory_limit_bytes);
    for (;;) {
      std::unique_ptr<Job> job;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return stop_ || !queue_.empty(); });
        if (stop_) return;
        job = std::move(queue_.front());
        queue_.pop_front();
      }
      finish(*job, worker);
    }
  }

  void finish(Job& job, CompileWorker& worker) {
    try {
      CompileResult result = run(job, worker);
      forget(job.key);
      job.promise.set_value(std::move(result));
    } catch (...) {
      forget(job.key);
      job.promise.set_exception(std::current_exception());
    }
  }

  CompileResult run(const Job& job, CompileWorker& worker) {
    if (std::optional<CachedCode> cached = cache_.load(job.key)) {
      CompileResult result;
      result.code = std::move(cached->code);
      result.log = std::move(cached->log);
      result.resources = cached->resources;
      result.from_cache = true;
      tally(&CompileCounters::from_cache);
      return result;
    }
    tally(&CompileCounters::compiled);
    CompileResult result = worker.compile(job.request, *job.setup, next_folder(), options_.timeout, stop_);
    if (result.outcome == db::Outcome::ok) cache_.store(job.key, {result.code, result.log, result.resources});
    return result;
  }

  void forget(const std::string& key) {
    const std::lock_guard lock(mutex_);
    in_flight_.erase(key);
  }

  CompileOptions options_;
  CodeCache cache_;
  mutable std::mutex mutex_;  ///< guards queue_, in_flight_ and counters_
  std::condition_variable wake_;
  std::atomic<bool> stop_ = false;
  std::deque<std::unique_ptr<Job>> queue_;
  std::map<std::string, std::shared_future<CompileResult>> in_flight_;
  CompileCounters counters_;
  std::mutex setup_mutex_;  ///< guards what follows
  std::map<std::string, std::shared_ptr<const WorkerSetup>> setups_;
  std::optional<process::ScratchFolder> scratch_;
  std::int64_t folders_ = 0;
  std::vector<std::thread> threads_;
};

CompileService::CompileService(CompileOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
CompileService::~CompileService() = default;

std::shared_future<CompileResult> CompileService::submit(CompileRequest request) {
  return impl_->submit(std::move(request));
}

int CompileService::workers() const { return impl_->workers(); }
CompileCounters CompileService::counters() const { return impl_->counters(); }
std::string CompileService::key(const CompileRequest& request) const { return impl_->key(request); }

}  // namespace wavetune::jit
