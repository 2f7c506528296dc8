#include "runtime/server/api_server.h"

#include <spdlog/spdlog.h>

#include <thread>
#include <utility>

#include "runtime/server/api_error.h"
#include "runtime/server/generation.h"
#include "runtime/server/text_routes.h"

namespace wavetune::server {

ApiServer::ApiServer(const ApiOptions& options) : workers_(std::make_shared<Workers>(options.workers)) {
  add_routes();
  http_ = std::make_unique<HttpServer>(options.http, [this](HttpRequest request, std::shared_ptr<Exchange> exchange) {
    handle(std::move(request), exchange);
  });
}

ApiServer::~ApiServer() { shut_down(std::chrono::milliseconds(0)); }

void ApiServer::serve(ServedModel model) {
  auto watch = std::make_shared<EngineWatch>(model.engine);
  {
    const std::scoped_lock lock(mutex_);
    model_ = std::make_shared<const ServedModel>(std::move(model));
    watch_ = std::move(watch);
  }
  state_ = State::ready;
}

void ApiServer::shut_down(std::chrono::milliseconds drain) {
  http_->stop_keep_alive();  // first: who is told that the server drains is told so on a connection that closes
  state_ = State::draining;
  const auto deadline = std::chrono::steady_clock::now() + drain;
  while (http_->active_exchanges() > 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (const auto left = http_->active_exchanges(); left > 0) spdlog::warn("shutdown: {} requests are cut off", left);
  // In this order: clients that are cut off make the workers cancel in the engine, which must still be there.
  http_->close();
  workers_->stop();
  std::shared_ptr<EngineWatch> watch;
  std::shared_ptr<const ServedModel> model;
  const std::scoped_lock lock(mutex_);
  watch.swap(watch_);
  model.swap(model_);
}

void ApiServer::add_routes() {
  router_.add("GET", "/health", [this](HttpRequest&, const auto& exchange) { answer(*exchange, health()); });
  router_.add("GET", "/metrics", [this](HttpRequest&, const auto& exchange) { answer(*exchange, metrics_text()); });
  router_.add("GET", "/v1/models", [this](HttpRequest&, const auto& exchange) {
    answer(*exchange, {200, "application/json", model_list_json(ready_model()->card)});
  });
  router_.add("GET", "/v1/models/*", [this](HttpRequest& request, const auto& exchange) {
    const auto model = ready_model();
    const std::string id = request.path.substr(std::string_view("/v1/models/").size());
    if (id != model->card.id) throw ApiError(404, "the model '" + id + "' does not exist", "model");
    answer(*exchange, {200, "application/json", model_json(model->card)});
  });
  const auto generate = [this](Endpoint endpoint) {
    return [this, endpoint](HttpRequest& request, const std::shared_ptr<Exchange>& exchange) {
      start_generation({ready_model(), workers_, metrics_}, endpoint, std::move(request.body), exchange);
    };
  };
  router_.add("POST", "/v1/completions", generate(Endpoint::completions));
  router_.add("POST", "/v1/chat/completions", generate(Endpoint::chat));
  router_.add("POST", "/tokenize",
              [this](HttpRequest& request, const auto& exchange) { on_worker(request, exchange, tokenize); });
  router_.add("POST", "/detokenize",
              [this](HttpRequest& request, const auto& exchange) { on_worker(request, exchange, detokenize); });
}

void ApiServer::handle(HttpRequest request, const std::shared_ptr<Exchange>& exchange) {
  try {
    router_.route(request, exchange);
  } catch (const ApiError& error) {
    HttpResponse response = error_response(error);
    if (error.status() == 405) response.headers.emplace_back("Allow", router_.allowed(request.path));
    answer(*exchange, std::move(response));
  } catch (const std::exception& error) {
    spdlog::error("{} {}: {}", request.method, request.path, error.what());
    answer(*exchange, error_response(ApiError(500, error.what())));
  }
}

void ApiServer::on_worker(HttpRequest& request, const std::shared_ptr<Exchange>& exchange,
                          HttpResponse (*answer_with)(const ServedModel&, const std::string&)) {
  workers_->post([this, answer_with, model = ready_model(), body = std::move(request.body), exchange] {
    try {
      answer(*exchange, answer_with(*model, body));
    } catch (const ApiError& error) {
      answer(*exchange, error_response(error));
    } catch (const std::exception& error) {
      answer(*exchange, error_response(ApiError(500, error.what())));
    }
  });
}

void ApiServer::answer(Exchange& exchange, HttpResponse response) {
  metrics_.count_response(response.status);
  exchange.respond(std::move(response));
}

HttpResponse ApiServer::health() const {
  switch (state_) {
    case State::ready:
      return {200, "application/json", R"({"status":"ok"})"};
    case State::starting:
      return {503, "application/json", R"({"status":"starting"})"};
    case State::draining:
      return {503, "application/json", R"({"status":"draining"})"};
  }
  return {500, "application/json", "{}"};
}

HttpResponse ApiServer::metrics_text() const {
  std::shared_ptr<EngineWatch> watch;
  std::string name;
  {
    const std::scoped_lock lock(mutex_);
    watch = watch_;
    if (model_) name = model_->card.id;
  }
  const EngineWatch::Snapshot snapshot = watch ? watch->latest() : EngineWatch::Snapshot();
  return {200, "text/plain; version=0.0.4; charset=utf-8", metrics_.text(name, snapshot.stats, snapshot.age_seconds)};
}

std::shared_ptr<const ServedModel> ApiServer::ready_model() const {
  if (state_ == State::starting) throw ApiError(503, "the model is still being loaded");
  if (state_ == State::draining) throw ApiError(503, "the server is shutting down");
  const std::scoped_lock lock(mutex_);
  return model_;
}

}  // namespace wavetune::server
