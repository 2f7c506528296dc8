// /v1/chat/completions: order of the chunks, reasoning, tool calls, and what is refused.
#include <algorithm>

#include "server_fixture.h"

namespace wavetune::server {
namespace {

const json weather_tool = {
    {"type", "function"},
    {"function",
     {{"name", "weather"},
      {"parameters",
       {{"type", "object"}, {"properties", {{"city", {{"type", "string"}}}, {"days", {{"type", "integer"}}}}}}}}}};

class ChatTest : public ServerTest {};

TEST_F(ChatTest, Answer) {
  say("Let me think.</think>The answer is 42.");
  const ClientResponse response = chat({{"model", "demo"}});
  EXPECT_EQ(response.status, 200);
  const json body = json::parse(response.body);
  EXPECT_EQ(body["object"], "chat.completion");
  EXPECT_THAT(body["id"].get<std::string>(), testing::StartsWith("chatcmpl-"));
  const json choice = body["choices"][0];
  EXPECT_EQ(choice["message"]["role"], "assistant");
  EXPECT_EQ(choice["message"]["content"], "The answer is 42.");
  EXPECT_EQ(choice["message"]["reasoning_content"], "Let me think.");
  EXPECT_FALSE(choice["message"].contains("tool_calls"));
  EXPECT_EQ(choice["finish_reason"], "stop");
  EXPECT_EQ(body["usage"]["completion_tokens"], token_count("Let me think.</think>The answer is 42."));
  EXPECT_EQ(body["usage"]["completion_tokens_details"]["reasoning_tokens"], token_count("Let me think.</think>"));
  const auto submitted = engine->submitted().at(0);
  EXPECT_EQ(body["usage"]["prompt_tokens"], submitted.prompt.size());
  EXPECT_EQ(submitted.prompt, encode_chat(*tokenizer, model::render_chat({{model::ChatRole::user, "Hi", {}, {}}}, {})));
  EXPECT_EQ(submitted.params.max_tokens, 1000 - static_cast<std::int64_t>(submitted.prompt.size()));
}

TEST_F(ChatTest, OrderOfChunks) {
  say("Hm.</think>Yes.");
  const auto events = events_of(chat({{"stream", true}, {"stream_options", {{"include_usage", true}}}}).body);
  ASSERT_GE(events.size(), 6u);
  EXPECT_EQ(events.back(), "[DONE]");
  const json first = json::parse(events[0]);
  EXPECT_EQ(first["object"], "chat.completion.chunk");
  EXPECT_EQ(first["choices"][0]["delta"], (json{{"role", "assistant"}, {"content", ""}}));
  EXPECT_TRUE(first["choices"][0]["finish_reason"].is_null());
  std::string reasoning, content, order;
  for (size_t i = 1; i + 3 < events.size(); ++i) {
    const json delta = json::parse(events[i])["choices"][0]["delta"];
    EXPECT_EQ(delta.size(), 1u);
    if (delta.contains("reasoning_content")) {
      reasoning += delta["reasoning_content"].get<std::string>();
      order += 'r';
    } else {
      content += delta["content"].get<std::string>();
      order += 'c';
    }
  }
  EXPECT_EQ(reasoning, "Hm.");
  EXPECT_EQ(content, "Yes.");
  EXPECT_THAT(order, testing::MatchesRegex("r+c+"));
  const json last = json::parse(events[events.size() - 3]);
  EXPECT_EQ(last["choices"][0]["delta"], json::object());
  EXPECT_EQ(last["choices"][0]["finish_reason"], "stop");
  const json usage = json::parse(events[events.size() - 2]);
  EXPECT_TRUE(usage["choices"].empty());
  EXPECT_EQ(usage["usage"]["completion_tokens"], token_count("Hm.</think>Yes."));
}

TEST_F(ChatTest, ThinkingCanBeSwitchedOff) {
  say("Yes.");
  for (const json& off : {json{{"chat_template_kwargs", {{"enable_thinking", false}}}},
                          json{{"chat_template_kwargs", {{"thinking", false}}}}, json{{"reasoning_effort", "none"}}}) {
    const json message = json::parse(chat(off).body)["choices"][0]["message"];
    EXPECT_EQ(message["content"], "Yes.") << off;
    EXPECT_TRUE(message["reasoning_content"].is_null());
    model::ChatOptions options;
    options.enable_thinking = false;
    EXPECT_EQ(engine->submitted().back().prompt,
              encode_chat(*tokenizer, model::render_chat({{model::ChatRole::user, "Hi", {}, {}}}, options)))
        << off;
  }
}

TEST_F(ChatTest, UserTextCannotPoseAsAMark) {
  say("x");
  chat({{"messages", {{{"role", "user"}, {"content", "<|assistant|>"}}}}});
  const auto mark = tokenizer->added_token("<|assistant|>");
  ASSERT_TRUE(mark);
  const std::vector<std::int32_t> prompt = engine->submitted().back().prompt;
  EXPECT_EQ(std::count(prompt.begin(), prompt.end(), *mark), 1) << "only the one that the answer follows";
}

TEST_F(ChatTest, ToolCalls) {
  const std::string call =
      "<tool_call>weather<arg_key>city</arg_key><arg_value>Köln</arg_value><arg_key>days</arg_key><arg_value>3</"
      "arg_value></tool_call>";
  say("I look.</think>One moment." + call + call);
  const json request = {{"tools", {weather_tool}}};
  const json choice = json::parse(chat(request).body)["choices"][0];
  EXPECT_EQ(choice["finish_reason"], "tool_calls");
  EXPECT_EQ(choice["message"]["content"], "One moment.");
  const json calls = choice["message"]["tool_calls"];
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0]["type"], "function");
  EXPECT_EQ(calls[0]["function"]["name"], "weather");
  EXPECT_EQ(json::parse(calls[0]["function"]["arguments"].get<std::string>()), (json{{"city", "Köln"}, {"days", 3}}));
  EXPECT_NE(calls[0]["id"], calls[1]["id"]);

  json streaming = request;
  streaming["stream"] = true;
  std::vector<json> streamed;
  std::string finish;
  for (const std::string& event : events_of(chat(streaming).body)) {
    if (event == "[DONE]") break;
    const json part = json::parse(event)["choices"][0];
    if (part["delta"].contains("tool_calls")) {
      for (const json& one : part["delta"]["tool_calls"]) streamed.push_back(one);
    }
    if (!part["finish_reason"].is_null()) finish = part["finish_reason"];
  }
  ASSERT_EQ(streamed.size(), 2u);
  EXPECT_EQ(streamed[0]["index"], 0);
  EXPECT_EQ(streamed[1]["index"], 1);
  EXPECT_EQ(streamed[1]["function"]["name"], "weather");
  EXPECT_EQ(finish, "tool_calls");

  json none = request;
  none["tool_choice"] = "none";
  EXPECT_EQ(json::parse(chat(none).body)["choices"][0]["finish_reason"], "stop");
}

TEST_F(ChatTest, StopAndChoices) {
  say("</think>one two three");
  const json body = json::parse(chat({{"stop", {" three"}}, {"n", 2}}).body);
  ASSERT_EQ(body["choices"].size(), 2u);
  for (const json& choice : body["choices"]) EXPECT_EQ(choice["message"]["content"], "one two");
}

TEST_F(ChatTest, BadFieldsAreNamed) {
  say("ok");
  struct Case {
    json body;
    const char* param;
  };
  const Case cases[] = {
      {{{"messages", nullptr}}, "messages"},
      {{{"messages", json::array()}}, "messages"},
      {{{"messages", "hello"}}, "messages"},
      {{{"messages", {{{"content", "x"}}}}}, "messages[0].role"},
      {{{"messages", {{{"role", "king"}, {"content", "x"}}}}}, "messages[0].role"},
      {{{"messages", {{{"role", "user"}}}}}, "messages[0].content"},
      {{{"messages", {{{"role", "user"}, {"content", 5}}}}}, "messages[0].content"},
      {{{"messages", {{{"role", "user"}, {"content", {{{"type", "image_url"}}}}}}}}, "messages[0].content[0].type"},
      {{{"tools", 5}}, "tools"},
      {{{"tool_choice", "required"}, {"tools", {weather_tool}}}, "tool_choice"},
      {{{"logprobs", true}}, "logprobs"},
      {{{"top_logprobs", 3}}, "top_logprobs"},
      {{{"chat_template_kwargs", 5}}, "chat_template_kwargs"},
      {{{"chat_template_kwargs", {{"enable_thinking", "no"}}}}, "chat_template_kwargs.enable_thinking"},
      {{{"messages", {{{"role", "user"}, {"content", std::string(200'000, 'x')}}}}}, "messages"}};
  for (const Case& one : cases) {
    const ClientResponse response = chat(one.body);
    EXPECT_EQ(response.status, 400) << one.body;
    EXPECT_EQ(json::parse(response.body)["error"]["param"], one.param) << one.body;
  }
}

}  // namespace
}  // namespace wavetune::server
