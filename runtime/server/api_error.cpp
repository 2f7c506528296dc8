#include "runtime/server/api_error.h"

#include <nlohmann/json.hpp>

namespace wavetune::server {
namespace {

/// vLLM's names.
const char* type_of(int status) {
  switch (status) {
    case 400:
      return "BadRequestError";
    case 404:
      return "NotFoundError";
    case 405:
      return "MethodNotAllowedError";
    case 413:
      return "RequestTooLargeError";
    case 503:
      return "ServiceUnavailableError";
    default:
      return status < 500 ? "BadRequestError" : "InternalServerError";
  }
}

}  // namespace

std::string error_json(const ApiError& error) {
  nlohmann::ordered_json body = {{"message", error.what()}, {"type", type_of(error.status())}};
  body["param"] = error.param().empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(error.param());
  body["code"] = error.status();
  const nlohmann::ordered_json document = {{"error", std::move(body)}};
  return document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

HttpResponse error_response(const ApiError& error) {
  HttpResponse response{error.status(), "application/json", error_json(error)};
  if (error.status() == 503) response.headers.emplace_back("Retry-After", "1");
  return response;
}

}  // namespace wavetune::server
