// HTTP requests and responses as plain values: what the routes see of the wire.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wavetune::server {

struct HttpRequest {
  std::string method;  ///< "GET"
  std::string path;    ///< without query
  std::string body;
  std::string request_id;  ///< the X-Request-Id header; it is echoed
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers = {};  ///< further ones
};

}  // namespace wavetune::server
