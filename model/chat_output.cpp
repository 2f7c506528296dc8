#include "model/chat_output.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "model/python_text.h"

namespace wavetune::model {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view think_begin = "<think>", think_end = "</think>";
constexpr std::string_view call_begin = "<tool_call>", call_end = "</tool_call>";
constexpr std::string_view key_begin = "<arg_key>", key_end = "</arg_key>";
constexpr std::string_view value_begin = "<arg_value>", value_end = "</arg_value>";

struct Found {
  std::size_t position = std::string_view::npos;
  std::string_view mark;
};

Found find_first(std::string_view text, std::span<const std::string_view> marks, std::size_t from = 0) {
  Found first;
  for (const std::string_view mark : marks) {
    const std::size_t position = text.find(mark, from);
    if (position < first.position) first = {position, mark};
  }
  return first;
}

/// Length of the longest end of `text` that one of the marks begins with.
std::size_t possible_mark(std::string_view text, std::span<const std::string_view> marks) {
  std::size_t longest = 0;
  for (const std::string_view mark : marks) {
    for (std::size_t length = std::min(mark.size() - 1, text.size()); length > longest; --length) {
      if (text.ends_with(mark.substr(0, length))) longest = length;
    }
  }
  return longest;
}

/// Whether a parameter's JSON schema wants a string.
bool schema_is_string(const ordered_json& schema) {
  if (!schema.is_object()) return false;
  const auto type = schema.find("type");
  if (type == schema.end()) {
    const auto values = schema.find("enum");
    return values != schema.end() && values->is_array() && !values->empty() &&
           std::all_of(values->begin(), values->end(), [](const ordered_json& value) { return value.is_string(); });
  }
  return *type == "string";
}

}  // namespace

ChatOutputSplitter::ChatOutputSplitter(const Options& options)
    : state_(options.starts_in_reasoning ? State::reasoning : State::content), parse_tools_(!options.tools.empty()) {
  for (const std::string& text : options.tools) {
    const ordered_json tool = ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!tool.is_object()) continue;
    const ordered_json& function = tool.contains("function") ? tool["function"] : tool;
    const ordered_json name = function.is_object() ? function.value("name", ordered_json()) : ordered_json();
    if (!name.is_string()) continue;
    auto& arguments = string_arguments_[name.get<std::string>()];
    const auto parameters = function.find("parameters");
    if (parameters == function.end() || !parameters->is_object() || !parameters->contains("properties")) continue;
    const ordered_json& properties = (*parameters)["properties"];
    if (!properties.is_object()) continue;
    for (const auto& [argument, schema] : properties.items()) arguments[argument] = schema_is_string(schema);
  }
}

ChatDelta ChatOutputSplitter::push(std::string_view text) {
  ChatDelta delta;
  buffer_ += text;
  drain(delta, /*at_end=*/false);
  return delta;
}

ChatDelta ChatOutputSplitter::finish() {
  ChatDelta delta;
  drain(delta, /*at_end=*/true);
  return delta;
}

void ChatOutputSplitter::drain(ChatDelta& delta, bool at_end) {
  while (state_ == State::call ? drain_call(delta, at_end) : drain_text(delta, at_end)) {
  }
}

/// Emits up to the next mark. Returns whether one was met, so that there may be more to do.
bool ChatOutputSplitter::drain_text(ChatDelta& delta, bool at_end) {
  const bool reasoning = state_ == State::reasoning;
  // <think> counts at the beginning of a part only: some chat modes let the model write it itself.
  std::vector<std::string_view> marks;
  if (reasoning) marks.push_back(think_end);
  if (parse_tools_) marks.push_back(call_begin);
  if (!started_) {
    buffer_.erase(0, buffer_.size() - python_lstrip(buffer_).size());
    if (buffer_.starts_with(think_begin)) {
      buffer_.erase(0, think_begin.size());
      state_ = State::reasoning;
      return true;
    }
    if (!at_end && think_begin.starts_with(buffer_)) return false;  // may become <think> (or is empty)
  }
  const Found found = find_first(buffer_, marks);
  if (found.position != std::string_view::npos) {
    // White space before a mark separates parts; it belongs to neither.
    emit(python_rstrip(std::string_view(buffer_).substr(0, found.position)), delta);
    buffer_.erase(0, found.position + found.mark.size());
    state_ = found.mark == think_end ? State::content : State::call;
    started_ = false;
    scanned_ = 0;
    in_value_ = false;
    return true;
  }
  std::string_view ready = buffer_;
  if (!at_end) {
    ready.remove_suffix(possible_mark(ready, marks));
    ready = python_rstrip(ready);  // known to separate parts, or not, only when more comes
  } else if (reasoning) {
    ready = python_rstrip(ready);
  }
  const std::size_t size = ready.size();
  emit(ready, delta);
  buffer_.erase(0, at_end ? buffer_.size() : size);
  return false;
}

void ChatOutputSplitter::emit(std::string_view text, ChatDelta& delta) {
  if (text.empty()) return;
  started_ = true;
  (state_ == State::reasoning ? delta.reasoning : delta.content) += text;
}

/// Waits for the end of the call. Inside a value only </arg_value> counts: a value may well speak of tool calls.
bool ChatOutputSplitter::drain_call(ChatDelta& delta, bool at_end) {
  static constexpr std::array<std::string_view, 2> outside = {value_begin, call_end};
  static constexpr std::array<std::string_view, 1> inside = {value_end};
  for (;;) {
    const std::span<const std::string_view> marks = in_value_ ? std::span<const std::string_view>(inside) : outside;
    const Found found = find_first(buffer_, marks, scanned_);
    if (found.position == std::string_view::npos) {
      // A mark may be cut by the buffer's end: look at its last characters again.
      const std::size_t margin = call_end.size();
      scanned_ = std::max(scanned_, buffer_.size() > margin ? buffer_.size() - margin : 0);
      break;
    }
    scanned_ = found.position + found.mark.size();
    if (found.mark != call_end) {
      in_value_ = found.mark == value_begin;
      continue;
    }
    GeneratedToolCall call = parse_call(std::string_view(buffer_).substr(0, found.position));
    state_ = State::content;
    started_ = false;
    if (call.name.empty()) {
      emit(std::string(call_begin) + buffer_.substr(0, scanned_), delta);  // calls nothing
    } else {
      delta.tool_calls.push_back(std::move(call));
    }
    buffer_.erase(0, scanned_);
    return true;
  }
  if (at_end) {
    state_ = State::content;
    emit(std::string(call_begin) + buffer_, delta);
    buffer_.clear();
  }
  return false;
}

GeneratedToolCall ChatOutputSplitter::parse_call(std::string_view body) const {
  GeneratedToolCall call;
  std::size_t position = std::min(body.find(key_begin), body.size());
  call.name = python_strip(body.substr(0, position));
  ordered_json arguments = ordered_json::object();
  while (position < body.size()) {
    const std::size_t key_from = body.find(key_begin, position);
    if (key_from == std::string_view::npos) break;
    const std::size_t key_to = body.find(key_end, key_from);
    const std::size_t value_from = key_to == std::string_view::npos ? key_to : body.find(value_begin, key_to);
    const std::size_t value_to = value_from == std::string_view::npos ? value_from : body.find(value_end, value_from);
    if (value_to == std::string_view::npos) break;  // half an argument is none
    const std::string key(python_strip(body.substr(key_from + key_begin.size(), key_to - key_from - key_begin.size())));
    const std::string value(body.substr(value_from + value_begin.size(), value_to - value_from - value_begin.size()));
    ordered_json parsed(value);
    if (!is_string_argument(call.name, key)) {
      const ordered_json read = ordered_json::parse(value, nullptr, /*allow_exceptions=*/false);
      if (!read.is_discarded()) parsed = read;
    }
    arguments[key] = std::move(parsed);
    position = value_to + value_end.size();
  }
  call.arguments = python_json(arguments);
  return call;
}

bool ChatOutputSplitter::is_string_argument(const std::string& function, const std::string& argument) const {
  const auto known = string_arguments_.find(function);
  if (known == string_arguments_.end()) return false;
  const auto found = known->second.find(argument);
  return found != known->second.end() && found->second;
}

}  // namespace wavetune::model
