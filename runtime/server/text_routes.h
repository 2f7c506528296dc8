// /tokenize and /detokenize: what the model sees of a text.
#pragma once

#include <string>

#include "runtime/server/http_message.h"
#include "runtime/server/served_model.h"

namespace wavetune::server {

/// {"prompt": TEXT} -> {"count", "max_model_len", "tokens"}. Throws ApiError.
HttpResponse tokenize(const ServedModel& model, const std::string& body);
/// {"tokens": [ID...]} -> {"prompt"}. Throws ApiError.
HttpResponse detokenize(const ServedModel& model, const std::string& body);

}  // namespace wavetune::server
