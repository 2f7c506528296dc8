// /v1/completions: answers, streams, stops, cancellation, and what is refused.
#include <thread>

#include "server_fixture.h"

namespace wavetune::server {
namespace {

using testing::HasSubstr;

class CompletionsTest : public ServerTest {
 protected:
  /// The streamed text of one choice, and its finish reason.
  struct Streamed {
    std::string text;
    json finish;
    std::vector<json> events;  ///< all but [DONE]
  };

  static Streamed streamed(const ClientResponse& response) {
    Streamed result;
    std::vector<std::string> events = events_of(response.body);
    EXPECT_EQ(events.back(), "[DONE]");
    events.pop_back();
    for (const std::string& event : events) {
      result.events.push_back(json::parse(event));
      for (const json& choice : result.events.back()["choices"]) {
        result.text += choice["text"].get<std::string>();
        if (!choice["finish_reason"].is_null()) result.finish = choice["finish_reason"];
      }
    }
    return result;
  }
};

TEST_F(CompletionsTest, Answer) {
  say("Hello world, 世界 🙂!");
  const ClientResponse response =
      complete({{"model", "demo"}, {"prompt", "Say hello"}, {"max_tokens", 50}, {"temperature", 0}, {"seed", 7}});
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.at("content-type"), "application/json");
  const json body = json::parse(response.body);
  EXPECT_EQ(body["object"], "text_completion");
  EXPECT_EQ(body["model"], "demo");
  EXPECT_THAT(body["id"].get<std::string>(), testing::StartsWith("cmpl-"));
  EXPECT_TRUE(body["created"].is_number_integer());
  ASSERT_EQ(body["choices"].size(), 1u);
  EXPECT_EQ(body["choices"][0]["text"], "Hello world, 世界 🙂!");
  EXPECT_EQ(body["choices"][0]["index"], 0);
  EXPECT_EQ(body["choices"][0]["finish_reason"], "stop");
  EXPECT_TRUE(body["choices"][0]["logprobs"].is_null());
  const json usage = body["usage"];
  EXPECT_EQ(usage["prompt_tokens"], token_count("Say hello"));
  EXPECT_EQ(usage["completion_tokens"], token_count("Hello world, 世界 🙂!"));
  EXPECT_EQ(usage["total_tokens"], usage["prompt_tokens"].get<int>() + usage["completion_tokens"].get<int>());
  EXPECT_EQ(usage["prompt_tokens_details"]["cached_tokens"], 0);

  const auto submitted = engine->submitted().at(0);
  EXPECT_EQ(submitted.prompt, tokenizer->encode("Say hello", model::AddedTokensIn::recognised));
  EXPECT_EQ(submitted.params.max_tokens, 50);
  EXPECT_EQ(submitted.params.temperature, 0);
  EXPECT_EQ(submitted.params.top_p, 1);
  EXPECT_EQ(submitted.params.seed, 7u);
  EXPECT_FALSE(submitted.params.ignore_eos);
}

TEST_F(CompletionsTest, StopTokenCountsAsGenerated) {
  auto script = script_of(*tokenizer, "Hi");
  script.back().stop_token = 0;
  engine->set_script(script);
  EXPECT_EQ(json::parse(complete({}).body)["usage"]["completion_tokens"], token_count("Hi") + 1);
}

TEST_F(CompletionsTest, StreamedBytes) {
  engine->set_script(
      {{tokenizer->encode("Hi", model::AddedTokensIn::plain_text), engine::FinishReason::none, -1, ""},
       {tokenizer->encode("\n\"x\"", model::AddedTokensIn::plain_text), engine::FinishReason::length, -1, ""}});
  const ClientResponse response = complete({{"stream", true}});
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.at("content-type"), "text/event-stream");
  EXPECT_EQ(response.headers.at("cache-control"), "no-cache");
  EXPECT_EQ(response.headers.at("transfer-encoding"), "chunked");
  // One chunk an event, each on one line, and nothing but "data: " lines.
  const json first = json::parse(events_of(response.body).at(0));
  const std::string head = "data: {\"id\":" + first["id"].dump() +
                           ",\"object\":\"text_completion\",\"created\":" + first["created"].dump() +
                           ",\"model\":\"demo\",\"choices\":[{\"index\":0,\"text\":";
  const std::vector<std::string> expected = {head + "\"Hi\",\"logprobs\":null,\"finish_reason\":null}]}\n\n",
                                             head + "\"\\n\\\"x\\\"\",\"logprobs\":null,\"finish_reason\":null}]}\n\n",
                                             head + "\"\",\"logprobs\":null,\"finish_reason\":\"length\"}]}\n\n",
                                             "data: [DONE]\n\n"};
  EXPECT_EQ(response.chunks, expected);
}

TEST_F(CompletionsTest, StreamedUsageOnlyWhenAskedFor) {
  say("one two three");
  for (const json& event : streamed(complete({{"stream", true}})).events) EXPECT_FALSE(event.contains("usage"));
  const auto asked = streamed(complete({{"stream", true}, {"stream_options", {{"include_usage", true}}}}));
  for (size_t i = 0; i + 1 < asked.events.size(); ++i) EXPECT_TRUE(asked.events[i].at("usage").is_null());
  EXPECT_TRUE(asked.events.back()["choices"].empty());
  EXPECT_EQ(asked.events.back()["usage"]["completion_tokens"], token_count("one two three"));
  EXPECT_EQ(asked.events.back()["usage"]["prompt_tokens"], token_count("Hi"));
  const auto running = streamed(
      complete({{"stream", true}, {"stream_options", {{"include_usage", true}, {"continuous_usage_stats", true}}}}));
  EXPECT_EQ(running.events.front()["usage"]["completion_tokens"], 1);
  EXPECT_EQ(running.events.back()["usage"]["completion_tokens"], token_count("one two three"));
}

TEST_F(CompletionsTest, CharactersAreNeverCut) {
  const std::string text = "é世界🙂👩‍💻";
  say(text);
  const auto whole = streamed(complete({{"stream", true}, {"max_tokens", 99}}));
  EXPECT_EQ(whole.text, text);
  for (const json& event : whole.events) EXPECT_THAT(event.dump(), Not(HasSubstr("\xEF\xBF\xBD")));

  auto script = script_of(*tokenizer, "a🙂", engine::FinishReason::length);
  script.erase(script.end() - 2);  // the character's last token does not come
  engine->set_script(script);
  const std::string cut = streamed(complete({{"stream", true}})).text;
  EXPECT_EQ(cut, json::parse(complete({}).body)["choices"][0]["text"]);
  EXPECT_THAT(cut, testing::StartsWith("a"));
}

TEST_F(CompletionsTest, StopStringsAcrossTokens) {
  struct Case {
    json stop;
    const char* shown;
  };
  const Case cases[] = {{"three", "one two "},
                        {json::array({"zzz", "o th"}), "one tw"},
                        {"one", ""},
                        {json::array(), "one two three four"},
                        {nullptr, "one two three four"},
                        {"four five", "one two three four"}};
  engine->set_script(script_of(*tokenizer, "one two three four"), std::chrono::milliseconds(1));
  for (const Case& one : cases) {
    const bool stopped = one.shown != std::string("one two three four");
    const auto stream = streamed(complete({{"stream", true}, {"stop", one.stop}, {"max_tokens", 99}}));
    EXPECT_EQ(stream.text, one.shown) << one.stop;
    EXPECT_EQ(stream.finish, "stop");
    const json whole = json::parse(complete({{"stop", one.stop}, {"max_tokens", 99}}).body);
    EXPECT_EQ(whole["choices"][0]["text"], one.shown) << one.stop;
    const std::int64_t all = token_count("one two three four");
    EXPECT_LE(whole["usage"]["completion_tokens"], all) << one.stop;
    if (!stopped) {
      EXPECT_EQ(whole["usage"]["completion_tokens"], all) << one.stop;
    }
  }
}

TEST_F(CompletionsTest, StopCancelsInTheEngine) {
  const model::TokenId token = tokenizer->encode("a", model::AddedTokensIn::plain_text).at(0);
  engine->set_script({{{token}, engine::FinishReason::none, -1, ""}}, std::chrono::milliseconds(1));
  const json body = json::parse(complete({{"stop", "aaa"}}).body);
  EXPECT_EQ(body["choices"][0]["text"], "");
  EXPECT_EQ(body["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(body["usage"]["completion_tokens"], 3);
  EXPECT_TRUE(engine->wait_for_cancelled(1));
  EXPECT_EQ(json::parse(complete({{"stop_token_ids", {token}}}).body)["choices"][0]["text"], "");
  EXPECT_TRUE(engine->wait_for_cancelled(2));
}

TEST_F(CompletionsTest, SeveralPromptsAndChoices) {
  say("ok");
  const json body = json::parse(complete({{"prompt", {"first", "second one"}}, {"n", 3}, {"seed", 10}}).body);
  ASSERT_EQ(body["choices"].size(), 6u);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(body["choices"][static_cast<size_t>(i)]["index"], i);
  EXPECT_EQ(body["usage"]["prompt_tokens"], token_count("first") + token_count("second one"));
  EXPECT_EQ(body["usage"]["completion_tokens"], 6 * token_count("ok"));
  const auto submitted = engine->submitted();
  EXPECT_EQ(submitted[0].params.seed, 10u);
  EXPECT_EQ(submitted[2].params.seed, 12u);
  EXPECT_EQ(submitted[3].params.seed, 10u);
  EXPECT_NE(submitted[0].prompt, submitted[3].prompt);

  EXPECT_EQ(complete({{"prompt", {5, 6, 7}}}).status, 200);
  EXPECT_EQ(engine->submitted().back().prompt, (std::vector<std::int32_t>{5, 6, 7}));
  EXPECT_EQ(complete({{"prompt", {{5, 6}, {7}}}}).status, 200);
  EXPECT_EQ(engine->submitted().back().prompt, (std::vector<std::int32_t>{7}));
}

TEST_F(CompletionsTest, MaxTokensDefaultsAndRoom) {
  say("ok");
  complete({});
  EXPECT_EQ(engine->submitted().back().params.max_tokens, 16);
  complete({{"max_tokens", 5}, {"max_completion_tokens", 6}});
  EXPECT_EQ(engine->submitted().back().params.max_tokens, 6);
  complete({{"max_tokens", 1'000'000}, {"prompt", {1, 2, 3}}});
  EXPECT_EQ(engine->submitted().back().params.max_tokens, 997) << "what is left of the context";
}

TEST_F(CompletionsTest, ClientThatLeavesCancels) {
  engine->set_script({{{5}, engine::FinishReason::none, -1, ""}}, std::chrono::milliseconds(1));
  for (const bool stream : {true, false}) {
    const size_t before = engine->submitted().size();
    Client client(server.port());
    const std::string body = json({{"prompt", "Hi"}, {"stream", stream}, {"n", 2}, {"max_tokens", 900}}).dump();
    client.send("POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) +
                "\r\n\r\n" + body);
    while (engine->submitted().size() < before + 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    client.close();
    EXPECT_TRUE(engine->wait_for_cancelled(before + 2)) << stream;
  }
  EXPECT_EQ(Client(server.port()).get("/health").status, 200);
}

TEST_F(CompletionsTest, EngineErrors) {
  engine->set_script({{{}, engine::FinishReason::error, -1, "device lost"}});
  const ClientResponse whole = complete({});
  EXPECT_EQ(whole.status, 500);
  EXPECT_EQ(json::parse(whole.body)["error"]["message"], "device lost");
  EXPECT_EQ(complete({{"stream", true}}).status, 500) << "nothing was sent yet: the status can tell";

  engine->set_script({{{5}, engine::FinishReason::none, -1, ""}, {{}, engine::FinishReason::error, -1, "device lost"}});
  const auto events = events_of(complete({{"stream", true}}).body);
  EXPECT_EQ(events.back(), "[DONE]");
  EXPECT_EQ(json::parse(events[events.size() - 2])["error"]["message"], "device lost");
}

TEST_F(CompletionsTest, IgnoredFields) {
  say("ok");
  const json harmless = {{"user", "me"},
                         {"best_of", 1},
                         {"logprobs", nullptr},
                         {"echo", false},
                         {"suffix", nullptr},
                         {"logit_bias", nullptr},
                         {"store", true},
                         {"metadata", {{"a", "b"}}},
                         {"presence_penalty", 0},
                         {"frequency_penalty", 0.0},
                         {"repetition_penalty", 1.0},
                         {"top_k", -1},
                         {"stop", nullptr},
                         {"stream_options", nullptr},
                         {"n", nullptr},
                         {"seed", -5},
                         {"response_format", {{"type", "text"}}},
                         {"service_tier", "auto"}};
  EXPECT_EQ(complete(harmless).status, 200);
  EXPECT_EQ(engine->submitted().back().params.seed, static_cast<std::uint64_t>(-5));
  EXPECT_EQ(complete({{"ignore_eos", true}}).status, 200);
  EXPECT_TRUE(engine->submitted().back().params.ignore_eos);
}

TEST_F(CompletionsTest, BadFieldsAreNamed) {
  say("ok");
  struct Case {
    json body;
    const char* param;
    int status = 400;
  };
  const Case cases[] = {{{{"model", "gpt-4"}}, "model", 404},
                        {{{"model", 3}}, "model"},
                        {{{"prompt", nullptr}}, "prompt"},
                        {{{"prompt", ""}}, "prompt"},
                        {{{"prompt", json::array()}}, "prompt"},
                        {{{"prompt", {{"a", 1}}}}, "prompt"},
                        {{{"prompt", {1, "a"}}}, "prompt"},
                        {{{"prompt", {-1}}}, "prompt"},
                        {{{"prompt", {1.5}}}, "prompt"},
                        {{{"prompt", {99999999999}}}, "prompt"},
                        {{{"prompt", std::vector<int>(1000, 5)}}, "prompt"},
                        {{{"max_tokens", 0}}, "max_tokens"},
                        {{{"max_tokens", -1}}, "max_tokens"},
                        {{{"max_tokens", "5"}}, "max_tokens"},
                        {{{"max_tokens", 5.5}}, "max_tokens"},
                        {{{"max_completion_tokens", 0}}, "max_completion_tokens"},
                        {{{"temperature", -0.1}}, "temperature"},
                        {{{"temperature", 2.1}}, "temperature"},
                        {{{"temperature", "hot"}}, "temperature"},
                        {{{"top_p", 0}}, "top_p"},
                        {{{"top_p", 1.01}}, "top_p"},
                        {{{"seed", 1.5}}, "seed"},
                        {{{"seed", 18446744073709551615u}}, "seed"},
                        {{{"n", 0}}, "n"},
                        {{{"n", 9}}, "n"},
                        {{{"stream", "yes"}}, "stream"},
                        {{{"stream_options", 1}}, "stream_options"},
                        {{{"stream_options", {{"include_usage", 1}}}}, "stream_options.include_usage"},
                        {{{"stop", 5}}, "stop"},
                        {{{"stop", ""}}, "stop"},
                        {{{"stop", {"a", 5}}}, "stop"},
                        {{{"stop", std::vector<std::string>(65, "x")}}, "stop"},
                        {{{"stop_token_ids", "a"}}, "stop_token_ids"},
                        {{{"logprobs", 1}}, "logprobs"},
                        {{{"echo", true}}, "echo"},
                        {{{"best_of", 2}}, "best_of"},
                        {{{"top_k", 40}}, "top_k"},
                        {{{"presence_penalty", 0.5}}, "presence_penalty"},
                        {{{"presence_penalty", "x"}}, "presence_penalty"},
                        {{{"logit_bias", {{"5", 1}}}}, "logit_bias"},
                        {{{"ignore_eos", 1}}, "ignore_eos"},
                        {{{"response_format", {{"type", "json_object"}}}}, "response_format.type"},
                        {{{"suffix", "x"}}, "suffix"}};
  for (const Case& one : cases) {
    const ClientResponse response = complete(one.body);
    EXPECT_EQ(response.status, one.status) << one.body;
    const json error = json::parse(response.body)["error"];
    EXPECT_EQ(error["param"], one.param) << one.body;
    EXPECT_EQ(error["code"], one.status);
    EXPECT_TRUE(error["type"].is_string());
    EXPECT_FALSE(error["message"].get<std::string>().empty());
  }
  for (const char* body : {"", "{", "[]", "null", "5", "{\"prompt\": \"\xFF\"}", "{'prompt': 'x'}"}) {
    const ClientResponse response = Client(server.port()).post("/v1/completions", body);
    EXPECT_EQ(response.status, 400) << body;
    EXPECT_TRUE(json::parse(response.body)["error"]["param"].is_null());
  }
  EXPECT_TRUE(engine->submitted().empty());
  EXPECT_EQ(complete({}).status, 200) << "the server goes on";
}

TEST_F(CompletionsTest, DeepJsonDoesNoHarm) {
  const std::string deep = "{\"prompt\": " + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  EXPECT_EQ(Client(server.port()).post("/v1/completions", deep).status, 400);
}

TEST_F(CompletionsTest, TokenizeAndBack) {
  const json tokens = json::parse(post("/tokenize", {{"prompt", "Hello 世界"}}).body);
  EXPECT_EQ(tokens["count"], token_count("Hello 世界"));
  EXPECT_EQ(tokens["max_model_len"], 1000);
  EXPECT_EQ(json::parse(post("/detokenize", {{"tokens", tokens["tokens"]}}).body)["prompt"], "Hello 世界");
  EXPECT_EQ(json::parse(post("/tokenize", {{"prompt", 5}}).body)["error"]["param"], "prompt");
  EXPECT_EQ(json::parse(post("/detokenize", {{"tokens", {-1}}}).body)["error"]["param"], "tokens");
}

}  // namespace
}  // namespace wavetune::server
