#include "runtime/server/openai_response.h"

#include <fmt/format.h>

#include <chrono>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

namespace wavetune::server {
namespace {

using nlohmann::ordered_json;

std::string random_id(std::string_view prefix) {
  static std::mutex mutex;
  static std::mt19937_64 generator(std::random_device{}());
  const std::scoped_lock lock(mutex);
  return fmt::format("{}-{:016x}{:08x}", prefix, generator(), static_cast<std::uint32_t>(generator()));
}

std::int64_t unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// One line: dump() without indentation escapes every control character.
std::string dump(const ordered_json& json) { return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace); }

ordered_json usage_json(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", 0}}},
          {"completion_tokens_details", {{"reasoning_tokens", usage.reasoning_tokens}}}};
}

ordered_json card_json(const ModelCard& card) {
  return {{"id", card.id},
          {"object", "model"},
          {"created", card.created},
          {"owned_by", "wavetune"},
          {"root", card.root},
          {"parent", nullptr},
          {"max_model_len", card.max_model_len},
          {"permission", ordered_json::array()}};
}

}  // namespace

std::string model_list_json(const ModelCard& card) {
  return dump({{"object", "list"}, {"data", ordered_json::array({card_json(card)})}});
}

std::string model_json(const ModelCard& card) { return dump(card_json(card)); }

ResponseBuilder::ResponseBuilder(Endpoint endpoint, std::string model)
    : endpoint_(endpoint),
      model_(std::move(model)),
      id_(random_id(endpoint == Endpoint::chat ? "chatcmpl" : "cmpl")),
      created_(unix_seconds()) {}

ordered_json ResponseBuilder::head(const char* object) const {
  return {{"id", id_}, {"object", object}, {"created", created_}, {"model", model_}};
}

std::string ResponseBuilder::complete(const std::vector<CompleteChoice>& choices, const Usage& usage) {
  ordered_json answer = head(endpoint_ == Endpoint::chat ? "chat.completion" : "text_completion");
  ordered_json list = ordered_json::array();
  for (const CompleteChoice& choice : choices) {
    ordered_json entry = {{"index", choice.index}};
    if (endpoint_ == Endpoint::chat) {
      const model::ChatDelta& said = choice.message;
      ordered_json message = {{"role", "assistant"}, {"content", nullptr}};
      if (!said.content.empty() || said.tool_calls.empty()) message["content"] = said.content;
      message["reasoning_content"] = said.reasoning.empty() ? ordered_json() : ordered_json(said.reasoning);
      if (!said.tool_calls.empty()) message["tool_calls"] = tool_calls_json(choice.index, said.tool_calls, false);
      entry["message"] = std::move(message);
    } else {
      entry["text"] = choice.message.content;
    }
    entry["logprobs"] = nullptr;
    entry["finish_reason"] = to_string(choice.finish);
    list.push_back(std::move(entry));
  }
  answer["choices"] = std::move(list);
  answer["usage"] = usage_json(usage);
  return dump(answer);
}

std::string ResponseBuilder::chunk(ordered_json choice) const {
  ordered_json answer = head(endpoint_ == Endpoint::chat ? "chat.completion.chunk" : "text_completion");
  answer["choices"] = ordered_json::array({std::move(choice)});
  if (show_usage_) answer["usage"] = running_usage_ ? usage_json(*running_usage_) : ordered_json();
  return dump(answer);
}

std::string ResponseBuilder::role_chunk(int index) {
  if (endpoint_ != Endpoint::chat) return {};
  return chunk({{"index", index},
                {"delta", {{"role", "assistant"}, {"content", ""}}},
                {"logprobs", nullptr},
                {"finish_reason", nullptr}});
}

std::vector<std::string> ResponseBuilder::delta_chunks(int index, const model::ChatDelta& delta) {
  std::vector<std::string> chunks;
  if (endpoint_ == Endpoint::completions) {
    if (!delta.content.empty()) {
      chunks.push_back(
          chunk({{"index", index}, {"text", delta.content}, {"logprobs", nullptr}, {"finish_reason", nullptr}}));
    }
    return chunks;
  }
  const auto add = [&](const char* name, ordered_json value) {
    ordered_json part = ordered_json::object();
    part[name] = std::move(value);
    chunks.push_back(
        chunk({{"index", index}, {"delta", std::move(part)}, {"logprobs", nullptr}, {"finish_reason", nullptr}}));
  };
  if (!delta.reasoning.empty()) add("reasoning_content", delta.reasoning);
  if (!delta.content.empty()) add("content", delta.content);
  if (!delta.tool_calls.empty()) add("tool_calls", tool_calls_json(index, delta.tool_calls, true));
  return chunks;
}

std::string ResponseBuilder::finish_chunk(int index, Finish finish) {
  ordered_json choice = {{"index", index}};
  if (endpoint_ == Endpoint::chat) {
    choice["delta"] = ordered_json::object();
  } else {
    choice["text"] = "";
  }
  choice["logprobs"] = nullptr;
  choice["finish_reason"] = to_string(finish);
  return chunk(std::move(choice));
}

std::string ResponseBuilder::usage_chunk(const Usage& usage) {
  ordered_json answer = head(endpoint_ == Endpoint::chat ? "chat.completion.chunk" : "text_completion");
  answer["choices"] = ordered_json::array();
  answer["usage"] = usage_json(usage);
  return dump(answer);
}

void ResponseBuilder::set_running_usage(const std::optional<Usage>& usage) {
  show_usage_ = true;
  running_usage_ = usage;
}

ordered_json ResponseBuilder::tool_calls_json(int choice, const std::vector<model::GeneratedToolCall>& calls,
                                              bool with_index) {
  if (calls_of_choice_.size() <= static_cast<size_t>(choice)) calls_of_choice_.resize(static_cast<size_t>(choice) + 1);
  ordered_json list = ordered_json::array();
  for (const model::GeneratedToolCall& call : calls) {
    ordered_json entry = ordered_json::object();
    const int number = calls_of_choice_[static_cast<size_t>(choice)]++;
    if (with_index) entry["index"] = number;
    entry["id"] = random_id("call");
    entry["type"] = "function";
    entry["function"] = {{"name", call.name}, {"arguments", call.arguments}};
    list.push_back(std::move(entry));
  }
  return list;
}

std::string sse_event(std::string_view json) { return fmt::format("data: {}\n\n", json); }

}  // namespace wavetune::server
