#include "runtime/server/choice_decoder.h"

#include <algorithm>
#include <iterator>

namespace wavetune::server {
namespace {

void append(model::ChatDelta& to, model::ChatDelta&& more) {
  to.reasoning += more.reasoning;
  to.content += more.content;
  to.tool_calls.insert(to.tool_calls.end(), std::make_move_iterator(more.tool_calls.begin()),
                       std::make_move_iterator(more.tool_calls.end()));
}

}  // namespace

const char* to_string(Finish finish) {
  switch (finish) {
    case Finish::stop:
      return "stop";
    case Finish::length:
      return "length";
    case Finish::tool_calls:
      return "tool_calls";
  }
  return "stop";
}

ChoiceDecoder::ChoiceDecoder(const model::Tokenizer& tokenizer, const Options& options)
    : decoder_(tokenizer, model::SpecialTokens::skip),
      stop_strings_(options.stop),
      stop_token_ids_(options.stop_token_ids),
      end_of_reasoning_(tokenizer.added_token("</think>")) {
  if (!options.chat) return;
  splitter_.emplace(*options.chat);
  reasoning_ = options.chat->starts_in_reasoning;
}

ChoiceUpdate ChoiceDecoder::push(const engine::TokenEvent& event) {
  ChoiceUpdate update;
  for (const model::TokenId id : event.tokens) {
    count(id);
    if (std::find(stop_token_ids_.begin(), stop_token_ids_.end(), id) != stop_token_ids_.end()) {
      update.finish = Finish::stop;
    } else {
      add_text(decoder_.push(id), update.delta);
      if (stop_strings_.stopped()) update.finish = Finish::stop;
    }
    if (update.finish) {
      update.cancel = event.finish == engine::FinishReason::none;
      break;
    }
  }
  if (!update.finish && event.finish != engine::FinishReason::none) {
    if (event.stop_token >= 0) count(event.stop_token);
    update.finish = event.finish == engine::FinishReason::length ? Finish::length : Finish::stop;
  }
  if (update.finish) end_text(update.delta);
  called_tools_ = called_tools_ || !update.delta.tool_calls.empty();
  if (called_tools_ && update.finish == Finish::stop) update.finish = Finish::tool_calls;
  return update;
}

void ChoiceDecoder::count(model::TokenId id) {
  ++completion_tokens_;
  if (reasoning_) ++reasoning_tokens_;
  if (id == end_of_reasoning_) reasoning_ = false;
}

void ChoiceDecoder::add_text(const std::string& text, model::ChatDelta& delta) {
  const std::string certain = stop_strings_.push(text);
  if (splitter_) {
    append(delta, splitter_->push(certain));
  } else {
    delta.content += certain;
  }
}

void ChoiceDecoder::end_text(model::ChatDelta& delta) {
  if (!stop_strings_.stopped()) add_text(decoder_.finish(), delta);
  const std::string rest = stop_strings_.finish();
  if (!splitter_) {
    delta.content += rest;
    return;
  }
  append(delta, splitter_->push(rest));
  append(delta, splitter_->finish());
}

}  // namespace wavetune::server
