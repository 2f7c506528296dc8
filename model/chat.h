// GLM-5.2's chat format: conversations to prompts. The way back, from generated text, is chat_output.h.
//
// The renderer is written by hand for this one format (the model's chat_template.jinja) and held against the template's
// own output in tests/golden/chat.json. A turn has no end token: it ends where the next role token stands.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/tokenizer/tokenizer.h"

namespace wavetune::model {

enum class ChatRole { system, user, assistant, tool };

struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments;  ///< a JSON object
};

struct ChatMessage {
  ChatRole role = ChatRole::user;
  std::string content;
  /// Of an assistant: its thinking, without marks. When absent, thinking written into the content as <think>..</think>
  /// is taken from there.
  std::optional<std::string> reasoning;
  std::vector<ToolCall> tool_calls;
};

struct ChatOptions {
  bool enable_thinking = true;
  std::string reasoning_effort;  ///< "high" lowers it; everything else is the format's default, Max
  bool clear_thinking = false;   ///< leave out the reasoning of turns before the last user message
  bool add_generation_prompt = true;
  std::vector<std::string> tools;  ///< OpenAI tool objects as JSON text; the order of their keys is kept
};

/// A role token or other mark of the format, or text.
struct ChatPiece {
  bool mark = false;
  std::string text;
  bool operator==(const ChatPiece&) const = default;
};

/// Throws Error usage when a tool or a call's arguments are not a JSON object (the message says which).
std::vector<ChatPiece> render_chat(const std::vector<ChatMessage>& messages, const ChatOptions& options);

/// The rendered text, as the Jinja template gives it.
std::string chat_text(const std::vector<ChatPiece>& pieces);

/// Marks become their tokens by id; everything else is tokenised with added tokens off, so that a user who writes
/// "<|assistant|>" gets just those letters. Throws Error incompatible when the tokenizer has no token for a mark.
std::vector<TokenId> encode_chat(const Tokenizer& tokenizer, const std::vector<ChatPiece>& pieces);

/// The OpenAI API's `messages`: roles system (or developer), user, assistant, tool; content as a string, null
/// (assistant) or a list of text parts; reasoning_content (or reasoning); tool_calls whose arguments are a JSON string
/// or an object. Throws Error usage that begins with the field: "messages[2].content: ...".
std::vector<ChatMessage> chat_messages_from_json(const nlohmann::ordered_json& messages);

/// The OpenAI API's `tools`, for ChatOptions::tools. Throws Error usage: "tools[0].function.name: ...".
std::vector<std::string> chat_tools_from_json(const nlohmann::ordered_json& tools);

}  // namespace wavetune::model
