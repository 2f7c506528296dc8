#include "runtime/server/router.h"

#include <utility>

#include "runtime/server/api_error.h"

namespace wavetune::server {

void Router::add(std::string method, std::string path, RouteHandler handler) {
  routes_.push_back({std::move(method), std::move(path), std::move(handler)});
}

bool Router::Route::matches(const std::string& requested) const {
  if (!path.ends_with('*')) return requested == path;
  return requested.size() >= path.size() && requested.starts_with(std::string_view(path).substr(0, path.size() - 1));
}

void Router::route(HttpRequest& request, const std::shared_ptr<Exchange>& exchange) const {
  const std::string method = request.method == "HEAD" ? "GET" : request.method;
  for (const Route& route : routes_) {
    if (route.method == method && route.matches(request.path)) return route.handler(request, exchange);
  }
  const std::string methods = allowed(request.path);
  if (methods.empty()) throw ApiError(404, "there is no " + request.path + " here");
  throw ApiError(405, request.path + " does not know " + request.method + "; it knows " + methods);
}

std::string Router::allowed(const std::string& path) const {
  std::string methods;
  for (const Route& route : routes_) {
    if (!route.matches(path)) continue;
    methods += (methods.empty() ? "" : ", ") + route.method + (route.method == "GET" ? ", HEAD" : "");
  }
  return methods;
}

}  // namespace wavetune::server
