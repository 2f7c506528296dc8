#include "runtime/server/generation.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include "db/base/error.h"
#include "runtime/server/api_error.h"

namespace wavetune::server {
namespace {

using Clock = std::chrono::steady_clock;

/// The OpenAI API's default for /v1/completions; chat goes on to the end of the context.
constexpr std::int64_t default_completion_tokens = 16;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

std::uint64_t random_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

/// Runs on its own serial queue: no two of its methods at once.
class Generation : public std::enable_shared_from_this<Generation> {
 public:
  Generation(const GenerationContext& context, Endpoint endpoint, std::string body, std::shared_ptr<Exchange> exchange)
      : context_(context),
        endpoint_(endpoint),
        body_(std::move(body)),
        exchange_(std::move(exchange)),
        queue_(std::make_shared<SerialQueue>(context.workers)),
        builder_(endpoint, context.model->card.id) {}

  void start() {
    exchange_->on_client_gone([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->queue_->post([self] { self->on_client_gone(); });
    });
    queue_->post([self = shared_from_this()] { self->begin(); });
  }

 private:
  struct Choice {
    explicit Choice(ChoiceDecoder made) : decoder(std::move(made)) {}
    ChoiceDecoder decoder;
    std::int64_t prompt_tokens = 0;
    engine::RequestId id = 0;
    bool submitted = false;
    bool started = false;
    std::optional<Finish> finish;
    model::ChatDelta message;  ///< so far, when the answer is not streamed
    Clock::time_point first_event;
    Clock::time_point last_event;
  };

  void begin() {
    try {
      request_ = parse_generation_request(endpoint_, body_, context_.model->card.id);
      body_.clear();
      if (request_.include_usage) builder_.set_running_usage(std::nullopt);
      submit(encode_prompts());
    } catch (const ApiError& error) {
      fail_request(error);
    } catch (const Error& error) {
      const bool callers = error.kind() == ErrorKind::usage;
      if (!callers) spdlog::error("request failed: {}", error.what());
      fail_request(ApiError(callers ? 400 : 500, error.what(), callers ? prompt_field() : ""));
    } catch (const std::exception& error) {
      spdlog::error("request failed: {}", error.what());
      fail_request(ApiError(500, error.what()));
    }
  }

  std::string prompt_field() const { return endpoint_ == Endpoint::chat ? "messages" : "prompt"; }

  std::vector<std::vector<model::TokenId>> encode_prompts() const {
    const model::Tokenizer& tokenizer = *context_.model->tokenizer;
    if (endpoint_ == Endpoint::chat) return {encode_chat(tokenizer, render_chat(request_.messages, request_.chat))};
    std::vector<std::vector<model::TokenId>> prompts;
    for (const TextOrTokens& prompt : request_.prompts) {
      const auto* ids = std::get_if<std::vector<model::TokenId>>(&prompt);
      // Who sends raw prompts writes the chat marks himself: they are recognised.
      prompts.push_back(
          ids != nullptr ? *ids : tokenizer.encode(std::get<std::string>(prompt), model::AddedTokensIn::recognised));
    }
    return prompts;
  }

  ChoiceDecoder::Options decoder_options() const {
    ChoiceDecoder::Options options{request_.stop, request_.stop_token_ids, std::nullopt};
    if (endpoint_ == Endpoint::chat) {
      options.chat.emplace();
      options.chat->starts_in_reasoning = request_.chat.enable_thinking;
      if (request_.parse_tool_calls) options.chat->tools = request_.chat.tools;
    }
    return options;
  }

  engine::SamplingParams sampling_for(std::int64_t prompt_tokens) const {
    engine::SamplingParams sampling = request_.sampling;
    const std::int64_t room = std::max<std::int64_t>(context_.model->card.max_model_len - prompt_tokens, 1);
    if (sampling.max_tokens == 0) sampling.max_tokens = endpoint_ == Endpoint::chat ? room : default_completion_tokens;
    sampling.max_tokens = std::min(sampling.max_tokens, room);
    return sampling;
  }

  void submit(const std::vector<std::vector<model::TokenId>>& prompts) {
    const ChoiceDecoder::Options options = decoder_options();
    const std::uint64_t seed = request_.seed.value_or(random_seed());
    choices_.reserve(prompts.size() * static_cast<size_t>(request_.n));
    for (const auto& prompt : prompts) {
      usage_.prompt_tokens += static_cast<std::int64_t>(prompt.size());
      engine::SamplingParams sampling = sampling_for(static_cast<std::int64_t>(prompt.size()));
      for (int i = 0; i < request_.n; ++i) {
        Choice& choice = choices_.emplace_back(ChoiceDecoder(*context_.model->tokenizer, options));
        choice.prompt_tokens = static_cast<std::int64_t>(prompt.size());
        sampling.seed = seed + static_cast<std::uint64_t>(i);
        choice.id = context_.model->engine->submit(
            prompt, sampling,
            [self = shared_from_this(), index = choices_.size() - 1](const engine::TokenEvent& event) {
              self->queue_->post([self, index, event] { self->on_event(index, event); });
            });
        choice.submitted = true;
      }
    }
  }

  void on_event(size_t index, const engine::TokenEvent& event) {
    Choice& choice = choices_[index];
    if (ended_ || choice.finish) return;
    if (event.finish == engine::FinishReason::error) {
      context_.metrics.count_failed();
      return fail_request(ApiError(500, event.error.empty() ? "the engine failed" : event.error));
    }
    if (event.finish == engine::FinishReason::cancelled) {
      return fail_request(ApiError(503, "the server is shutting down"));
    }
    note_time(choice, static_cast<std::int64_t>(event.tokens.size()));
    const std::int64_t tokens_before = choice.decoder.completion_tokens();
    const std::int64_t reasoning_before = choice.decoder.reasoning_tokens();
    ChoiceUpdate update = choice.decoder.push(event);
    usage_.completion_tokens += choice.decoder.completion_tokens() - tokens_before;
    usage_.reasoning_tokens += choice.decoder.reasoning_tokens() - reasoning_before;
    if (update.cancel) context_.model->engine->cancel(choice.id);
    if (update.finish) finish_choice(choice, *update.finish);
    if (request_.stream) {
      stream_update(static_cast<int>(index), update);
    } else {
      keep_update(choice, std::move(update.delta));
    }
    if (all_finished()) complete();
  }

  void note_time(Choice& choice, std::int64_t tokens) {
    const Clock::time_point now = Clock::now();
    if (!choice.started) {
      choice.first_event = now;
    } else if (tokens > 0) {
      context_.metrics.observe_inter_token(seconds_between(choice.last_event, now), tokens);
    }
    choice.last_event = now;
  }

  void finish_choice(Choice& choice, Finish finish) {
    choice.finish = finish;
    ++finished_;
    context_.metrics.count_finish(
        finish, {seconds_between(arrival_, choice.first_event), seconds_between(arrival_, choice.last_event),
                 choice.prompt_tokens, choice.decoder.completion_tokens()});
  }

  bool all_finished() const { return finished_ == choices_.size(); }

  void stream_update(int index, const ChoiceUpdate& update) {
    Choice& choice = choices_[static_cast<size_t>(index)];
    if (!stream_started_) {
      stream_started_ = true;
      context_.metrics.count_response(200);
      exchange_->start_stream("text/event-stream");
    }
    if (request_.continuous_usage) builder_.set_running_usage(usage_);
    if (!std::exchange(choice.started, true)) send_chunk(builder_.role_chunk(index));
    for (const std::string& chunk : builder_.delta_chunks(index, update.delta)) send_chunk(chunk);
    if (update.finish) send_chunk(builder_.finish_chunk(index, *update.finish));
  }

  void send_chunk(const std::string& json) {
    if (!json.empty()) exchange_->send(sse_event(json));
  }

  static void keep_update(Choice& choice, model::ChatDelta&& delta) {
    choice.started = true;
    choice.message.reasoning += delta.reasoning;
    choice.message.content += delta.content;
    for (model::GeneratedToolCall& call : delta.tool_calls) choice.message.tool_calls.push_back(std::move(call));
  }

  void complete() {
    if (request_.stream) {
      if (request_.include_usage) send_chunk(builder_.usage_chunk(usage_));
      exchange_->send(std::string(sse_done));
      exchange_->finish();
    } else {
      std::vector<CompleteChoice> choices;
      for (Choice& choice : choices_) {
        choices.push_back({static_cast<int>(choices.size()), std::move(choice.message), *choice.finish});
      }
      context_.metrics.count_response(200);
      exchange_->respond({200, "application/json", builder_.complete(choices, usage_)});
    }
    end();
  }

  void fail_request(const ApiError& error) {
    if (ended_) return;
    cancel_choices();
    if (stream_started_) {
      exchange_->send(sse_event(error_json(error)));
      exchange_->send(std::string(sse_done));
      exchange_->finish();
    } else {
      context_.metrics.count_response(error.status());
      exchange_->respond(error_response(error));
    }
    end();
  }

  void on_client_gone() {
    if (ended_) return;
    context_.metrics.count_cancelled();
    cancel_choices();
    end();
  }

  void cancel_choices() {
    for (const Choice& choice : choices_) {
      if (choice.submitted && !choice.finish) context_.model->engine->cancel(choice.id);
    }
  }

  /// The engine may keep its callbacks, and with them this object, for a while: the connection must not wait for that,
  /// nor the engine's end for us.
  void end() {
    ended_ = true;
    exchange_.reset();
    context_.model.reset();
  }

  GenerationContext context_;
  Endpoint endpoint_;
  std::string body_;
  std::shared_ptr<Exchange> exchange_;
  std::shared_ptr<SerialQueue> queue_;
  ResponseBuilder builder_;
  GenerationRequest request_;
  std::vector<Choice> choices_;
  Usage usage_;
  size_t finished_ = 0;
  bool stream_started_ = false;
  bool ended_ = false;
  Clock::time_point arrival_ = Clock::now();
};

}  // namespace

void start_generation(const GenerationContext& context, Endpoint endpoint, std::string body,
                      std::shared_ptr<Exchange> exchange) {
  std::make_shared<Generation>(context, endpoint, std::move(body), std::move(exchange))->start();
}

}  // namespace wavetune::server
