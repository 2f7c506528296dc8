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

using Done = std::function<void(std::shared_future<CompileResult>)>;

struct Job {
  std::string key;
  CompileRequest request;
  std::shared_ptr<const WorkerSetup> setup;
  std::promise<CompileResult> promise;
  std::shared_future<CompileResult> future;
  std::vector<Done> done;  ///< guarded by the service's mutex
  std::atomic<bool> given_up = false;
};

std::exception_ptr given_up(const char* why) { return std::make_exception_ptr(Error(ErrorKind::internal, why)); }

int worker_count(int wanted) {
  if (wanted > 0) return wanted;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

std::string program_key(const CompileRequest& request) {
  return CodeCache::key(includes_fingerprint(request.source, request.options), request.source, request.options);
}

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
      for (const auto& [key, job] : in_flight_) job->given_up = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    for (const auto& job : queue_) {
      finish(*job, []() -> CompileResult {
        std::rethrow_exception(given_up("the compile service was stopped before this compile"));
      });
    }
  }

  void give_up_all() {
    std::deque<std::shared_ptr<Job>> waiting;
    {
      const std::lock_guard lock(mutex_);
      waiting.swap(queue_);
      for (const auto& [key, job] : in_flight_) job->given_up = true;
    }
    for (const auto& job : waiting) {
      finish(*job, []() -> CompileResult { std::rethrow_exception(given_up("given up before it was compiled")); });
    }
  }

  std::shared_future<CompileResult> submit(CompileRequest request, Done done) {
    std::shared_ptr<const WorkerSetup> setup = setup_of(request.device);
    const std::string key = key_of(request, *setup);
    const std::lock_guard lock(mutex_);
    ++counters_.submitted;
    if (const auto found = in_flight_.find(key); found != in_flight_.end() && !found->second->given_up) {
      ++counters_.shared;
      if (done) found->second->done.push_back(std::move(done));
      return found->second->future;
    }
    auto job = std::make_shared<Job>();
    job->key = key;
    job->request = std::move(request);
    job->setup = std::move(setup);
    job->future = job->promise.get_future().share();
    if (done) job->done.push_back(std::move(done));
    in_flight_.insert_or_assign(key, job);
    queue_.push_back(job);
    wake_.notify_one();
    return job->future;
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
      std::shared_ptr<Job> job;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return stop_ || !queue_.empty(); });
        if (stop_) return;
        job = std::move(queue_.front());
        queue_.pop_front();
      }
      finish(*job, [&] { return run(*job, worker); });
    }
  }

  /// `work` gives the result or throws. Nobody joins the job from the moment on at which its promise is filled.
  template <class Work>
  void finish(Job& job, const Work& work) {
    CompileResult result;
    std::exception_ptr failure;
    try {
      result = work();
    } catch (...) {
      failure = std::current_exception();
    }
    std::vector<Done> done;
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = in_flight_.find(job.key); found != in_flight_.end() && found->second.get() == &job)
        in_flight_.erase(found);
      done.swap(job.done);
    }
    if (failure)
      job.promise.set_exception(failure);
    else
      job.promise.set_value(std::move(result));
    for (const Done& call : done) call(job.future);
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
    CompileResult result = worker.compile(job.request, *job.setup, next_folder(), options_.timeout, job.given_up);
    if (job.given_up) std::rethrow_exception(given_up("given up while it was compiled"));
    if (result.outcome == db::Outcome::ok) cache_.store(job.key, {result.code, result.log, result.resources});
    return result;
  }

  CompileOptions options_;
  CodeCache cache_;
  mutable std::mutex mutex_;  ///< guards queue_, in_flight_ and counters_
  std::condition_variable wake_;
  std::atomic<bool> stop_ = false;
  std::deque<std::shared_ptr<Job>> queue_;
  std::map<std::string, std::shared_ptr<Job>> in_flight_;
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
  return impl_->submit(std::move(request), {});
}

void CompileService::submit(CompileRequest request, std::function<void(std::shared_future<CompileResult>)> done) {
  impl_->submit(std::move(request), std::move(done));
}

void CompileService::give_up_all() { impl_->give_up_all(); }

int CompileService::workers() const { return impl_->workers(); }
CompileCounters CompileService::counters() const { return impl_->counters(); }
std::string CompileService::key(const CompileRequest& request) const { return impl_->key(request); }

}  // namespace wavetune::jit
