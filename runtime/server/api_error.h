// Errors as the OpenAI API shows them: {"error": {"message", "type", "param", "code"}}.
#pragma once

#include <stdexcept>
#include <string>

#include "runtime/server/http_message.h"

namespace wavetune::server {

/// A request that cannot be answered as asked. `param` names the field, empty when it is not one field's fault.
class ApiError : public std::runtime_error {
 public:
  ApiError(int status, const std::string& message, std::string param = {})
      : std::runtime_error(message), status_(status), param_(std::move(param)) {}
  int status() const { return status_; }
  const std::string& param() const { return param_; }

 private:
  int status_;
  std::string param_;
};

/// The JSON text of an error, without line breaks.
std::string error_json(const ApiError& error);
HttpResponse error_response(const ApiError& error);

}  // namespace wavetune::server
