// The threads that tokenize, detokenize and build answers, so that neither the engine's nor the socket thread has to.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace wavetune::server {

class Workers {
 public:
  explicit Workers(int threads);
  ~Workers() { stop(); }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Runs `work` on one of the threads; it must not throw. Once stop() has returned it is dropped, and the answer is
  /// false.
  bool post(std::function<void()> work);
  /// Runs what was posted and what that posts, then ends the threads.
  void stop();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  bool stopping_ = false;
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

/// Runs its work one after the other, in the order posted, on any of the workers' threads.
class SerialQueue : public std::enable_shared_from_this<SerialQueue> {
 public:
  explicit SerialQueue(std::shared_ptr<Workers> workers) : workers_(std::move(workers)) {}
  void post(std::function<void()> work);

 private:
  void run_one();
  void schedule();

  std::shared_ptr<Workers> workers_;  ///< shared: an engine may still call when the server has gone
  std::mutex mutex_;
  std::deque<std::function<void()>> queue_;  ///< the front one is running or about to
};

}  // namespace wavetune::server
