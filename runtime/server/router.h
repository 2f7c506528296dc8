// Which function answers a method and a path.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/server/exchange.h"
#include "runtime/server/http_message.h"

namespace wavetune::server {

using RouteHandler = std::function<void(HttpRequest&, const std::shared_ptr<Exchange>&)>;

class Router {
 public:
  /// A path that ends in "*" matches everything that begins with what stands before it. GET answers HEAD, too.
  void add(std::string method, std::string path, RouteHandler handler);
  /// Calls the handler. Throws ApiError 404 for an unknown path, 405 for a path with other methods (see allowed()).
  void route(HttpRequest& request, const std::shared_ptr<Exchange>& exchange) const;
  /// The methods of a path, as the Allow header has them: "GET, HEAD".
  std::string allowed(const std::string& path) const;

 private:
  struct Route {
    std::string method;
    std::string path;
    RouteHandler handler;
    bool matches(const std::string& requested) const;
  };

  std::vector<Route> routes_;
};

}  // namespace wavetune::server
