// What GLM-5.2 generates, taken apart while it streams: reasoning, content and tool calls.
//
//     reasoning</think>content<tool_call>NAME<arg_key>K</arg_key><arg_value>V</arg_value>...</tool_call>...
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace wavetune::model {

/// A complete call. Its id is the server's to give.
struct GeneratedToolCall {
  std::string name;
  std::string arguments;  ///< a JSON object, keys in the order generated
  bool operator==(const GeneratedToolCall&) const = default;
};

/// What is new. Within one delta the order is reasoning, content, calls.
struct ChatDelta {
  std::string reasoning;
  std::string content;
  std::vector<GeneratedToolCall> tool_calls;
  bool empty() const { return reasoning.empty() && content.empty() && tool_calls.empty(); }
};

/// Feed it decoded text (StreamDecoder with SpecialTokens::skip) in pieces of whole characters: the deltas put together
/// do not depend on how the text was cut. A piece that may be the beginning of a mark is held back until that is clear.
///
/// White space around marks separates parts and is dropped, so are leading white space of content and all around
/// reasoning. <think> counts only at the beginning of a part. A call without a name comes out as content.
class ChatOutputSplitter {
 public:
  struct Options {
    bool starts_in_reasoning = true;  ///< the prompt ended in <think> (ChatOptions::enable_thinking)
    /// The request's tools (ChatOptions::tools). They say which arguments are strings: those are passed on as
    /// generated, others are read as JSON. When empty, <tool_call> is ordinary text.
    std::vector<std::string> tools;
  };

  explicit ChatOutputSplitter(const Options& options);

  ChatDelta push(std::string_view text);
  /// The end. An unfinished tool call comes out as content, so that nothing is lost.
  ChatDelta finish();

 private:
  enum class State { reasoning, content, call };

  void drain(ChatDelta& delta, bool at_end);
  bool drain_text(ChatDelta& delta, bool at_end);
  bool drain_call(ChatDelta& delta, bool at_end);
  void emit(std::string_view text, ChatDelta& delta);
  GeneratedToolCall parse_call(std::string_view body) const;
  bool is_string_argument(const std::string& function, const std::string& argument) const;

  State state_;
  bool parse_tools_ = false;
  bool started_ = false;     ///< something other than white space of this part was emitted
  std::string buffer_;       ///< not yet emitted
  std::size_t scanned_ = 0;  ///< in a call: the buffer was searched up to here
  bool in_value_ = false;    ///< in a call: `scanned_` stands inside an argument's value
  std::map<std::string, std::map<std::string, bool>> string_arguments_;  ///< function -> argument -> is a string
};

}  // namespace wavetune::model
