// The JSON that the OpenAI API answers with.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/server/choice_decoder.h"
#include "runtime/server/openai_request.h"

namespace wavetune::server {

struct Usage {
  std::int64_t prompt_tokens = 0;      ///< each prompt counted once, whatever n is
  std::int64_t completion_tokens = 0;  ///< of all choices
  std::int64_t reasoning_tokens = 0;
};

/// What /v1/models says of the served model.
struct ModelCard {
  std::string id;
  std::string root;          ///< the folder that it was loaded from: clients look for the tokenizer there
  std::int64_t created = 0;  ///< Unix seconds
  std::int64_t max_model_len = 0;
};

std::string model_list_json(const ModelCard& card);
std::string model_json(const ModelCard& card);

/// A choice of an answer that is not streamed.
struct CompleteChoice {
  int index = 0;
  model::ChatDelta message;
  Finish finish = Finish::stop;
};

/// Builds all JSON of one request's answer: id, model and creation time are the same in all of its parts.
class ResponseBuilder {
 public:
  ResponseBuilder(Endpoint endpoint, std::string model);

  std::string complete(const std::vector<CompleteChoice>& choices, const Usage& usage);

  // Chunks of a stream: JSON on one line each.
  /// The first of a chat choice; for completions there is none ("").
  std::string role_chunk(int index);
  /// Nothing when the delta is empty. A chat delta gives one chunk for each of reasoning, content and calls.
  std::vector<std::string> delta_chunks(int index, const model::ChatDelta& delta);
  std::string finish_chunk(int index, Finish finish);
  /// The one with an empty list of choices.
  std::string usage_chunk(const Usage& usage);

  /// From now on chunks carry "usage": these numbers, or null.
  void set_running_usage(const std::optional<Usage>& usage);

 private:
  std::string chunk(nlohmann::ordered_json choice) const;
  nlohmann::ordered_json head(const char* object) const;
  nlohmann::ordered_json tool_calls_json(int choice, const std::vector<model::GeneratedToolCall>& calls,
                                         bool with_index);

  Endpoint endpoint_;
  std::string model_;
  std::string id_;
  std::int64_t created_;
  bool show_usage_ = false;
  std::optional<Usage> running_usage_;
  std::vector<int> calls_of_choice_;  ///< tool calls sent so far
};

/// "data: " + json + "\n\n".
std::string sse_event(std::string_view json);
inline constexpr std::string_view sse_done = "data: [DONE]\n\n";

}  // namespace wavetune::server
