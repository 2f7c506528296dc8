// What a server serves.
#pragma once

#include <memory>

#include "model/tokenizer/tokenizer.h"
#include "runtime/engine/engine.h"
#include "runtime/server/openai_response.h"

namespace wavetune::server {

struct ServedModel {
  ModelCard card;
  std::shared_ptr<const model::Tokenizer> tokenizer;
  std::shared_ptr<engine::Engine> engine;
};

}  // namespace wavetune::server
