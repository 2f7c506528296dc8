#include "model/chat.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "db/base/error.h"
#include "model/python_text.h"

namespace wavetune::model {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view think_begin = "<think>", think_end = "</think>";

/// Collects pieces; neighbouring texts become one, because they must be tokenised as one.
class Writer {
 public:
  Writer& mark(std::string_view text) {
    pieces_.push_back({true, std::string(text)});
    return *this;
  }
  Writer& text(std::string_view text) {
    if (text.empty()) return *this;
    if (!pieces_.empty() && !pieces_.back().mark) {
      pieces_.back().text += text;
    } else {
      pieces_.push_back({false, std::string(text)});
    }
    return *this;
  }
  std::vector<ChatPiece> take() { return std::move(pieces_); }

 private:
  std::vector<ChatPiece> pieces_;
};

ordered_json parse_object(const std::string& text, const std::string& what) {
  ordered_json value = ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!value.is_object()) fail(ErrorKind::usage, "{} must be a JSON object, found {}", what, text.substr(0, 80));
  return value;
}

bool truthy(const ordered_json& object, const char* field) {
  const auto found = object.find(field);
  return found != object.end() && *found != ordered_json(nullptr) && *found != ordered_json(false);
}

void write_tools(const std::vector<std::string>& tools, Writer& out) {
  out.mark("<|system|>")
      .text(
          "\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
          "You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n");
  for (std::size_t i = 0; i < tools.size(); ++i) {
    const ordered_json tool = parse_object(tools[i], fmt::format("tools[{}]", i));
    const auto function = tool.find("function");
    ordered_json spec = function != tool.end() && function->is_object() ? *function : tool;
    if (truthy(tool, "defer_loading") || truthy(spec, "defer_loading")) continue;
    spec.erase("defer_loading");
    spec.erase("strict");
    out.text(python_json(spec)).text("\n");
  }
  out.text(
      "</tools>\n\nFor each function call, output the function name and arguments within the following XML format:\n");
  out.mark("<tool_call>").text("{function-name}");
  out.mark("<arg_key>")
      .text("{arg-key-1}")
      .mark("</arg_key>")
      .mark("<arg_value>")
      .text("{arg-value-1}")
      .mark("</arg_value>");
  out.mark("<arg_key>")
      .text("{arg-key-2}")
      .mark("</arg_key>")
      .mark("<arg_value>")
      .text("{arg-value-2}")
      .mark("</arg_value>");
  out.text("...").mark("</tool_call>");
}

/// Reasoning and visible content; a client that knows no reasoning field sends both in the content.
std::pair<std::string, std::string> split_content(const ChatMessage& message) {
  if (message.reasoning) return {*message.reasoning, message.content};
  const std::size_t end = message.content.find(think_end);
  if (end == std::string::npos) return {"", message.content};
  std::string reasoning = message.content.substr(0, end);
  if (const std::size_t begin = reasoning.rfind(think_begin); begin != std::string::npos) {
    reasoning.erase(0, begin + think_begin.size());
  }
  return {reasoning, message.content.substr(message.content.rfind(think_end) + think_end.size())};
}

void write_assistant(const ChatMessage& message, bool keep_reasoning, Writer& out) {
  const auto [reasoning, content] = split_content(message);
  out.mark("<|assistant|>").mark(think_begin);
  if (keep_reasoning) out.text(python_strip(reasoning));
  out.mark(think_end).text(python_strip(content));
  for (const ToolCall& call : message.tool_calls) {
    const ordered_json arguments = parse_object(call.arguments, "arguments of the call of " + call.name);
    out.mark("<tool_call>").text(call.name);
    for (const auto& [key, value] : arguments.items()) {
      out.mark("<arg_key>").text(key).mark("</arg_key>").mark("<arg_value>");
      out.text(value.is_string() ? value.get<std::string>() : python_json(value)).mark("</arg_value>");
    }
    out.mark("</tool_call>");
  }
}

std::size_t last_user(const std::vector<ChatMessage>& messages) {
  for (std::size_t i = messages.size(); i > 0; --i) {
    if (messages[i - 1].role == ChatRole::user) return i;
  }
  return 0;
}

}  // namespace

std::vector<ChatPiece> render_chat(const std::vector<ChatMessage>& messages, const ChatOptions& options) {
  Writer out;
  out.mark("[gMASK]").mark("<sop>");
  if (options.enable_thinking) {
    out.mark("<|system|>").text("Reasoning Effort: ").text(options.reasoning_effort == "high" ? "High" : "Max");
  }
  if (!options.tools.empty()) write_tools(options.tools, out);
  const std::size_t until_last_user = last_user(messages);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const ChatMessage& message = messages[i];
    switch (message.role) {
      case ChatRole::system:
        out.mark("<|system|>").text(message.content);
        break;
      case ChatRole::user:
        out.mark("<|user|>").text(message.content);
        break;
      case ChatRole::assistant:
        write_assistant(message, !options.clear_thinking || i >= until_last_user, out);
        break;
      case ChatRole::tool:
        if (i == 0 || messages[i - 1].role != ChatRole::tool) out.mark("<|observation|>");
        out.mark("<tool_response>").text(message.content).mark("</tool_response>");
        break;
    }
  }
  if (options.add_generation_prompt) {
    out.mark("<|assistant|>").mark(think_begin);
    if (!options.enable_thinking) out.mark(think_end);
  }
  return out.take();
}

std::string chat_text(const std::vector<ChatPiece>& pieces) {
  std::string text;
  for (const ChatPiece& piece : pieces) text += piece.text;
  return text;
}

std::vector<TokenId> encode_chat(const Tokenizer& tokenizer, const std::vector<ChatPiece>& pieces) {
  std::vector<TokenId> ids;
  for (const ChatPiece& piece : pieces) {
    if (!piece.mark) {
      const std::vector<TokenId> text = tokenizer.encode(piece.text, AddedTokensIn::plain_text);
      ids.insert(ids.end(), text.begin(), text.end());
      continue;
    }
    const std::optional<TokenId> id = tokenizer.added_token(piece.text);
    if (!id) {
      fail(ErrorKind::incompatible,
           "tokenizer.json has no token {}, which GLM-5.2's chat format needs; use completions instead", piece.text);
    }
    ids.push_back(*id);
  }
  return ids;
}

}  // namespace wavetune::model
