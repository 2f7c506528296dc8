// From the tokens of one choice to the text that the client sees: detokenized, ended at stop strings, taken apart for
// chat.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/chat_output.h"
#include "model/tokenizer/tokenizer.h"
#include "runtime/engine/engine.h"
#include "runtime/server/stop_strings.h"

namespace wavetune::server {

enum class Finish { stop, length, tool_calls };
const char* to_string(Finish finish);

/// What one event adds. For completions only delta.content is used.
struct ChoiceUpdate {
  model::ChatDelta delta;
  std::optional<Finish> finish;  ///< the choice is complete
  bool cancel = false;           ///< complete, but the engine does not know yet
};

class ChoiceDecoder {
 public:
  struct Options {
    std::vector<std::string> stop;
    std::vector<model::TokenId> stop_token_ids;
    std::optional<model::ChatOutputSplitter::Options> chat;  ///< none: plain completion
  };

  ChoiceDecoder(const model::Tokenizer& tokenizer, const Options& options);

  /// `event.finish` must not be error or cancelled. Nothing may be pushed once an update has said `finish`.
  ChoiceUpdate push(const engine::TokenEvent& event);

  /// Tokens that the model generated for this choice, a token that ended it included (as vLLM and sglang count).
  std::int64_t completion_tokens() const { return completion_tokens_; }
  /// Those of them before and with the mark that ends the reasoning.
  std::int64_t reasoning_tokens() const { return reasoning_tokens_; }

 private:
  void add_text(const std::string& text, model::ChatDelta& delta);
  void end_text(model::ChatDelta& delta);
  void count(model::TokenId id);

  model::StreamDecoder decoder_;
  StopStrings stop_strings_;
  std::vector<model::TokenId> stop_token_ids_;
  std::optional<model::ChatOutputSplitter> splitter_;
  std::optional<model::TokenId> end_of_reasoning_;
  bool reasoning_ = false;
  bool called_tools_ = false;
  std::int64_t completion_tokens_ = 0;
  std::int64_t reasoning_tokens_ = 0;
};

}  // namespace wavetune::server
