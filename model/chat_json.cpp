// The OpenAI API's messages and tools.
#include <nlohmann/json.hpp>
#include <utility>

#include "db/base/error.h"
#include "model/chat.h"

namespace wavetune::model {
namespace {

using nlohmann::ordered_json;

[[noreturn]] void bad(const std::string& field, std::string_view what) {
  fail(ErrorKind::usage, "{}: {}", field, what);
}

/// Nullptr when absent or null.
const ordered_json* find(const ordered_json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string required_string(const ordered_json& object, const char* name, const std::string& field) {
  const ordered_json* value = find(object, name);
  if (value == nullptr) bad(field + '.' + name, "is missing");
  if (!value->is_string()) bad(field + '.' + name, "must be a string");
  return value->get<std::string>();
}

ChatRole read_role(const ordered_json& message, const std::string& field) {
  const std::string role = required_string(message, "role", field);
  if (role == "system" || role == "developer") return ChatRole::system;
  if (role == "user") return ChatRole::user;
  if (role == "assistant") return ChatRole::assistant;
  if (role == "tool") return ChatRole::tool;
  bad(field + ".role", "must be system, developer, user, assistant or tool, found " + role);
}

std::string read_content(const ordered_json& message, ChatRole role, const std::string& message_field) {
  const std::string field = message_field + ".content";
  const ordered_json* content = find(message, "content");
  if (content == nullptr) {
    if (role == ChatRole::assistant) return {};
    bad(field, "is missing");
  }
  if (content->is_string()) return content->get<std::string>();
  if (!content->is_array()) bad(field, "must be a string or a list of text parts");
  std::string text;
  for (std::size_t i = 0; i < content->size(); ++i) {
    const ordered_json& part = (*content)[i];
    const std::string part_field = fmt::format("{}[{}]", field, i);
    if (part.is_string()) {
      text += part.get<std::string>();
      continue;
    }
    if (!part.is_object()) bad(part_field, "must be an object");
    const std::string type = required_string(part, "type", part_field);
    if (type != "text") bad(part_field + ".type", type + " is not supported: this model reads text");
    text += required_string(part, "text", part_field);
  }
  return text;
}

ToolCall read_tool_call(const ordered_json& value, const std::string& field) {
  if (!value.is_object()) bad(field, "must be an object");
  const ordered_json* inner = find(value, "function");
  if (inner != nullptr && !inner->is_object()) bad(field + ".function", "must be an object");
  const ordered_json& function = inner != nullptr ? *inner : value;
  const std::string function_field = inner != nullptr ? field + ".function" : field;
  ToolCall call;
  if (const ordered_json* id = find(value, "id"); id != nullptr && id->is_string()) call.id = id->get<std::string>();
  call.name = required_string(function, "name", function_field);
  const ordered_json* arguments = find(function, "arguments");
  if (arguments == nullptr) {
    call.arguments = "{}";
  } else if (arguments->is_object()) {
    call.arguments = arguments->dump();
  } else if (arguments->is_string()) {
    call.arguments = arguments->get<std::string>();
    if (call.arguments.empty()) call.arguments = "{}";
    if (!ordered_json::parse(call.arguments, nullptr, false).is_object()) {
      bad(function_field + ".arguments", "must hold a JSON object");
    }
  } else {
    bad(function_field + ".arguments", "must be a string that holds a JSON object");
  }
  return call;
}

}  // namespace

std::vector<ChatMessage> chat_messages_from_json(const ordered_json& messages) {
  if (!messages.is_array()) bad("messages", "must be a list");
  if (messages.empty()) bad("messages", "must hold at least one message");
  std::vector<ChatMessage> result;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::string field = fmt::format("messages[{}]", i);
    const ordered_json& value = messages[i];
    if (!value.is_object()) bad(field, "must be an object");
    ChatMessage message;
    message.role = read_role(value, field);
    message.content = read_content(value, message.role, field);
    for (const char* name : {"reasoning_content", "reasoning"}) {
      const ordered_json* reasoning = find(value, name);
      if (reasoning == nullptr || message.reasoning) continue;
      if (!reasoning->is_string()) bad(field + '.' + name, "must be a string");
      message.reasoning = reasoning->get<std::string>();
    }
    if (const ordered_json* calls = find(value, "tool_calls")) {
      if (!calls->is_array()) bad(field + ".tool_calls", "must be a list");
      for (std::size_t j = 0; j < calls->size(); ++j) {
        message.tool_calls.push_back(read_tool_call((*calls)[j], fmt::format("{}.tool_calls[{}]", field, j)));
      }
    }
    result.push_back(std::move(message));
  }
  return result;
}

std::vector<std::string> chat_tools_from_json(const ordered_json& tools) {
  if (!tools.is_array()) bad("tools", "must be a list");
  std::vector<std::string> result;
  for (std::size_t i = 0; i < tools.size(); ++i) {
    const std::string field = fmt::format("tools[{}]", i);
    if (!tools[i].is_object()) bad(field, "must be an object");
    const ordered_json* function = find(tools[i], "function");
    if (function != nullptr && !function->is_object()) bad(field + ".function", "must be an object");
    required_string(function != nullptr ? *function : tools[i], "name",
                    function != nullptr ? field + ".function" : field);
    result.push_back(tools[i].dump());
  }
  return result;
}

}  // namespace wavetune::model
