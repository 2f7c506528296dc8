// The bodies of /v1/completions and /v1/chat/completions, checked field by field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/chat.h"
#include "model/tokenizer/tokenizer.h"
#include "runtime/engine/engine.h"

namespace wavetune::server {

enum class Endpoint { completions, chat };

using TextOrTokens = std::variant<std::string, std::vector<model::TokenId>>;

struct GenerationRequest {
  Endpoint endpoint = Endpoint::completions;
  std::vector<TextOrTokens> prompts;         ///< completions: one or more
  std::vector<model::ChatMessage> messages;  ///< chat
  model::ChatOptions chat;
  bool parse_tool_calls = false;  ///< chat: tools were given, and tool_choice is not "none"

  int n = 1;                          ///< choices for each prompt
  engine::SamplingParams sampling;    ///< max_tokens is 0 when the request does not say
  std::optional<std::uint64_t> seed;  ///< none: each request draws one
  std::vector<std::string> stop;
  std::vector<model::TokenId> stop_token_ids;

  bool stream = false;
  bool include_usage = false;
  bool continuous_usage = false;
};

/// Largest accepted `n`.
inline constexpr int max_choices = 8;

/// Throws ApiError: 400 with the field's name in `param`; 404 when `model` is not `served_model`. An absent model is
/// taken as the served one. Fields that change nothing (user, metadata, best_of 1, penalties of 0, ...) are accepted
/// and ignored; those that would change the answer and are not supported are refused.
GenerationRequest parse_generation_request(Endpoint endpoint, const std::string& body, const std::string& served_model);

}  // namespace wavetune::server
