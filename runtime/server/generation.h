// One request for text: from its body to the last byte of its answer.
#pragma once

#include <memory>

#include "runtime/server/exchange.h"
#include "runtime/server/metrics.h"
#include "runtime/server/openai_request.h"
#include "runtime/server/served_model.h"
#include "runtime/server/workers.h"

namespace wavetune::server {

struct GenerationContext {
  std::shared_ptr<const ServedModel> model;
  std::shared_ptr<Workers> workers;
  Metrics& metrics;
};

/// Returns at once; everything is done on the workers. Every way to fail ends in an answer. When the client goes away,
/// its sequences are cancelled in the engine.
void start_generation(const GenerationContext& context, Endpoint endpoint, std::string body,
                      std::shared_ptr<Exchange> exchange);

}  // namespace wavetune::server
