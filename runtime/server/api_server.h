// The OpenAI API over HTTP: routes, readiness, shutdown.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "runtime/server/engine_watch.h"
#include "runtime/server/http_server.h"
#include "runtime/server/metrics.h"
#include "runtime/server/router.h"
#include "runtime/server/served_model.h"
#include "runtime/server/workers.h"

namespace wavetune::server {

struct ApiOptions {
  HttpOptions http;
  int workers = 2;  ///< threads that tokenize and build answers
};

class ApiServer {
 public:
  /// Listens at once, so that a port in use shows before a model is loaded; answers 503 until serve().
  /// Throws Error as HttpServer.
  explicit ApiServer(const ApiOptions& options);
  /// shut_down without waiting.
  ~ApiServer();
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  /// From now on the server is ready.
  void serve(ServedModel model);

  /// Refuses new requests (503; /health too), waits up to `drain` for those under way, then ends everything and lets go
  /// of the model.
  void shut_down(std::chrono::milliseconds drain);

  std::uint16_t port() const { return http_->port(); }
  std::string url() const { return http_->url(); }

 private:
  enum class State { starting, ready, draining };

  void add_routes();
  void handle(HttpRequest request, const std::shared_ptr<Exchange>& exchange);
  void answer(Exchange& exchange, HttpResponse response);
  HttpResponse health() const;
  HttpResponse metrics_text() const;
  /// Throws ApiError 503 unless the server is ready.
  std::shared_ptr<const ServedModel> ready_model() const;
  /// Runs `answer_with(model, body)` on a worker.
  void on_worker(HttpRequest& request, const std::shared_ptr<Exchange>& exchange,
                 HttpResponse (*answer_with)(const ServedModel&, const std::string&));

  Metrics metrics_;
  Router router_;
  std::atomic<State> state_{State::starting};
  mutable std::mutex mutex_;  ///< guards model_ and watch_, for as long as it takes to copy a pointer
  std::shared_ptr<const ServedModel> model_;
  std::shared_ptr<EngineWatch> watch_;
  std::shared_ptr<Workers> workers_;
  std::unique_ptr<HttpServer> http_;
};

}  // namespace wavetune::server
