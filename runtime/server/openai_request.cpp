#include "runtime/server/openai_request.h"

#include <fmt/format.h>

#include <limits>

#include "db/base/error.h"
#include "runtime/server/request_fields.h"

namespace wavetune::server {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t max_stop_strings = 64;
constexpr std::size_t max_prompts = 1024;

std::vector<model::TokenId> read_token_ids(const RequestFields& fields, std::string_view name,
                                           const ordered_json& list) {
  std::vector<model::TokenId> ids;
  ids.reserve(list.size());
  for (const ordered_json& id : list) {
    // Negative and oversized ids are no token's; the engine checks the vocabulary.
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > std::numeric_limits<model::TokenId>::max()) {
      fields.fail_field(name, "must hold token ids (integers from 0 on)");
    }
    ids.push_back(id.get<model::TokenId>());
  }
  return ids;
}

/// A string, a list of strings, a list of token ids, or a list of such lists.
std::vector<TextOrTokens> read_prompts(const RequestFields& fields) {
  constexpr const char* forms = "must be a string, a list of strings, a list of token ids or a list of such lists";
  const ordered_json* prompt = fields.find("prompt");
  if (prompt == nullptr) fields.fail_field("prompt", "is missing");
  if (prompt->is_string()) return {prompt->get<std::string>()};
  if (!prompt->is_array()) fields.fail_field("prompt", forms);
  if (prompt->empty()) fields.fail_field("prompt", "is empty");
  if (prompt->front().is_number()) return {read_token_ids(fields, "prompt", *prompt)};
  if (prompt->size() > max_prompts) fields.fail_field("prompt", fmt::format("has more than {} prompts", max_prompts));
  std::vector<TextOrTokens> prompts;
  for (const ordered_json& one : *prompt) {
    if (one.is_string()) {
      prompts.emplace_back(one.get<std::string>());
    } else if (one.is_array()) {
      prompts.emplace_back(read_token_ids(fields, "prompt", one));
    } else {
      fields.fail_field("prompt", forms);
    }
  }
  return prompts;
}

std::vector<std::string> read_stop(const RequestFields& fields) {
  const ordered_json* stop = fields.find("stop");
  if (stop == nullptr) return {};
  const ordered_json list = stop->is_array() ? *stop : ordered_json::array({*stop});
  if (list.size() > max_stop_strings)
    fields.fail_field("stop", fmt::format("has more than {} strings", max_stop_strings));
  std::vector<std::string> strings;
  for (const ordered_json& one : list) {
    if (!one.is_string()) fields.fail_field("stop", "must be a string or a list of strings");
    if (one.get_ref<const std::string&>().empty()) fields.fail_field("stop", "must not hold an empty string");
    strings.push_back(one.get<std::string>());
  }
  return strings;
}

/// Refuses a number that would change the answer; absent and the neutral value are fine.
void expect_neutral(const RequestFields& fields, std::string_view name, double neutral) {
  const ordered_json* value = fields.find(name);
  if (value == nullptr) return;
  if (!value->is_number()) fields.fail_field(name, "must be a number");
  if (value->get<double>() != neutral)
    fields.fail_field(name, fmt::format("is not supported (other than {})", neutral));
}

void refuse_unsupported(const RequestFields& fields) {
  for (const char* penalty : {"presence_penalty", "frequency_penalty", "min_p", "min_tokens", "top_logprobs"}) {
    expect_neutral(fields, penalty, 0);
  }
  for (const char* factor : {"repetition_penalty", "length_penalty", "best_of"}) expect_neutral(fields, factor, 1);
  if (const auto top_k = fields.integer("top_k", -1, no_limit); top_k && *top_k > 0) {
    fields.fail_field("top_k", "is not supported (other than 0 or -1); use top_p");
  }
  if (const ordered_json* logprobs = fields.find("logprobs"); logprobs != nullptr && *logprobs != false) {
    fields.fail_field("logprobs", "is not supported");
  }
  for (const char* flag : {"echo", "use_beam_search", "continue_final_message"}) {
    if (fields.boolean(flag).value_or(false)) fields.fail_field(flag, "is not supported");
  }
  if (const ordered_json* bias = fields.find("logit_bias"); bias != nullptr && !bias->empty()) {
    fields.fail_field("logit_bias", "is not supported");
  }
  if (const auto suffix = fields.text("suffix"); suffix && !suffix->empty())
    fields.fail_field("suffix", "is not supported");
  if (const auto format = fields.object("response_format")) {
    if (format->text("type").value_or("text") != "text") format->fail_field("type", "only \"text\" is supported");
  }
  for (const char* absent : {"functions", "function_call", "audio", "modalities", "guided_json", "guided_regex"}) {
    const ordered_json* value = fields.find(absent);
    if (value == nullptr || (value->is_array() && (value->empty() || *value == ordered_json::array({"text"}))))
      continue;
    fields.fail_field(absent, "is not supported");
  }
}

void read_sampling(const RequestFields& fields, GenerationRequest& request) {
  engine::SamplingParams& sampling = request.sampling;
  sampling.temperature = static_cast<float>(fields.number("temperature", 0, 2).value_or(1));
  const double top_p = fields.number("top_p", 0, 1).value_or(1);
  if (top_p == 0) fields.fail_field("top_p", "must be larger than 0");
  sampling.top_p = static_cast<float>(top_p);
  if (const auto seed = fields.integer("seed", std::numeric_limits<std::int64_t>::min(), no_limit)) {
    request.seed = static_cast<std::uint64_t>(*seed);
  }
  const auto older = fields.integer("max_tokens", 1, no_limit);
  const auto newer = fields.integer("max_completion_tokens", 1, no_limit);
  sampling.max_tokens = newer ? *newer : older.value_or(0);
  sampling.ignore_eos = fields.boolean("ignore_eos").value_or(false);
  request.n = static_cast<int>(fields.integer("n", 1, max_choices).value_or(1));
  request.stop = read_stop(fields);
  if (const ordered_json* ids = fields.find("stop_token_ids")) {
    if (!ids->is_array()) fields.fail_field("stop_token_ids", "must be a list of token ids");
    request.stop_token_ids = read_token_ids(fields, "stop_token_ids", *ids);
  }
  request.stream = fields.boolean("stream").value_or(false);
  if (const auto options = fields.object("stream_options")) {
    request.continuous_usage = options->boolean("continuous_usage_stats").value_or(false);
    request.include_usage = options->boolean("include_usage").value_or(false);
  }
}

void read_chat_template_options(const RequestFields& fields, model::ChatOptions& options) {
  // GLM's own name is enable_thinking; clients written for other models send thinking.
  for (const char* name : {"thinking", "enable_thinking"}) {
    if (const auto* value = fields.find(name); value != nullptr && value->is_boolean()) {
      options.enable_thinking = value->get<bool>();
    } else if (value != nullptr) {
      fields.fail_field(name, "must be true or false");
    }
  }
  options.clear_thinking = fields.boolean("clear_thinking").value_or(options.clear_thinking);
  options.reasoning_effort = fields.text("reasoning_effort").value_or(options.reasoning_effort);
  options.add_generation_prompt = fields.boolean("add_generation_prompt").value_or(options.add_generation_prompt);
}

void read_chat(const RequestFields& fields, GenerationRequest& request) {
  const ordered_json* messages = fields.find("messages");
  if (messages == nullptr) fields.fail_field("messages", "is missing");
  request.messages = model::chat_messages_from_json(*messages);
  if (request.messages.empty()) fields.fail_field("messages", "is empty");

  const ordered_json* choice = fields.find("tool_choice");
  const bool none = choice != nullptr && *choice == "none";
  if (choice != nullptr && !none && *choice != "auto") {
    fields.fail_field("tool_choice", "only \"auto\" and \"none\" are supported");
  }
  if (const ordered_json* tools = fields.find("tools"); tools != nullptr && !none) {
    request.chat.tools = model::chat_tools_from_json(*tools);
    request.parse_tool_calls = !request.chat.tools.empty();
  }
  if (const auto effort = fields.text("reasoning_effort")) {
    request.chat.reasoning_effort = *effort;
    request.chat.enable_thinking = *effort != "none";
  }
  if (const auto options = fields.object("chat_template_kwargs")) read_chat_template_options(*options, request.chat);
}

/// The model's own messages begin with the field: "messages[2].content: is missing".
ApiError field_error(const Error& error) {
  const std::string message = error.what();
  const size_t colon = message.find(": ");
  const bool named = colon != std::string::npos && message.find(' ') > colon;
  return ApiError(400, message, named ? message.substr(0, colon) : std::string());
}

}  // namespace

GenerationRequest parse_generation_request(Endpoint endpoint, const std::string& body,
                                           const std::string& served_model) {
  const ordered_json document = parse_body(body);
  const RequestFields fields(document);
  if (const auto name = fields.text("model"); name && *name != served_model) {
    throw ApiError(404, fmt::format("the model '{}' does not exist; this server serves '{}'", *name, served_model),
                   "model");
  }
  GenerationRequest request;
  request.endpoint = endpoint;
  refuse_unsupported(fields);
  read_sampling(fields, request);
  if (endpoint == Endpoint::completions) {
    request.prompts = read_prompts(fields);
    return request;
  }
  try {
    read_chat(fields, request);
  } catch (const Error& error) {
    throw field_error(error);
  }
  return request;
}

}  // namespace wavetune::server
