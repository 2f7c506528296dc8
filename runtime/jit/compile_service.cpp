#include "runtime/jit/compile_service.h"

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "db/base/error.h"
#include "runtime/hip/provider.h"
#include "runtime/jit/code_cache.h"
#include "runtime/jit/compile_worker.h"

namespace wavetune::jit {
namespace {

struct Job {
  std::string key;
  CompileRequest request;
  std::promise<CompileResult> promise;
};

/// Which compiler answers for a device spec: part of a cache entry's name. Kernels compiled under the CPU provider's
/// sanitizer differ although source and options are the same.
std::string compiler_identity(const std::string& device) {
  const auto provider = hip::load_provider(hip::parse_device_spec(device));
  const char* sanitize = std::getenv("WAVETUNE_CPU_SANITIZE");
  return fmt::format("{} {} {} {}", provider->driver(), provider->compiler(), provider->compiler_version(),
                     provider->kind() == hip::ProviderKind::cpu && sanitize != nullptr ? sanitize : "");
}

int worker_count(int wanted) {
  if (wanted > 0) return wanted;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

class CompileService::Impl {
 public:
  // The link, not its target: it works on when the file is replaced (an upgrade) while this process runs.
  explicit Impl(CompileOptions options)
      : options_(std::move(options)),
        executable_(options_.worker_executable.empty() ? "/proc/self/exe" : options_.worker_executable),
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
    const std::string key = CodeCache::key(identity(request.device), request.source, request.options);
    const std::lock_guard lock(mutex_);
    if (const auto found = in_flight_.find(key); found != in_flight_.end()) return found->second;
    auto job = std::make_unique<Job>();
    job->key = key;
    job->request = std::move(request);
    std::shared_future<CompileResult> future = job->promise.get_future().share();
    in_flight_.emplace(key, future);
    queue_.push_back(std::move(job));
    wake_.notify_one();
    return future;
  }

  int workers() const { return static_cast<int>(threads_.size()); }

 private:
  std::string identity(const std::string& device) {
    const std::lock_guard lock(identity_mutex_);
    std::string& text = identities_[device];
    if (text.empty()) text = compiler_identity(device);
    return text;
  }

  void serve() {
    CompileWorker worker(executable_, options_.memory_limit_bytes);
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
      return result;
    }
    CompileResult result = worker.compile(job.request, options_.timeout, stop_);
    if (result.outcome == db::Outcome::ok) cache_.store(job.key, {result.code, result.log, result.resources});
    return result;
  }

  void forget(const std::string& key) {
    const std::lock_guard lock(mutex_);
    in_flight_.erase(key);
  }

  CompileOptions options_;
  std::filesystem::path executable_;
  CodeCache cache_;
  std::mutex mutex_;  ///< guards queue_ and in_flight_
  std::condition_variable wake_;
  std::atomic<bool> stop_ = false;
  std::deque<std::unique_ptr<Job>> queue_;
  std::map<std::string, std::shared_future<CompileResult>> in_flight_;
  std::mutex identity_mutex_;  ///< guards identities_
  std::map<std::string, std::string> identities_;
  std::vector<std::thread> threads_;
};

CompileService::CompileService(CompileOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
CompileService::~CompileService() = default;

std::shared_future<CompileResult> CompileService::submit(CompileRequest request) {
  return impl_->submit(std::move(request));
}

int CompileService::workers() const { return impl_->workers(); }

}  // namespace wavetune::jit
