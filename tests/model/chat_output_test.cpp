#include "model/chat_output.h"

#include <gtest/gtest.h>

#include <ostream>

#include "model/tokenizer/utf8.h"

namespace wavetune::model {

void PrintTo(const GeneratedToolCall& call, std::ostream* out) { *out << call.name << call.arguments; }

namespace {

const char* const weather_tool =
    R"({"type": "function", "function": {"name": "weather", "parameters": {"type": "object",
  "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "unit": {"enum": ["C", "F"]}}}}})";

struct Case {
  const char* name;
  bool reasoning;
  bool tools;
  const char* text;
  const char* expected_reasoning;
  const char* expected_content;
  std::vector<GeneratedToolCall> expected_calls;
};

const Case cases[] = {
    {"nothing", true, true, "", "", "", {}},
    {"content only", false, true, "Hello", "", "Hello", {}},
    {"both", true, true, "I think.</think>Hello", "I think.", "Hello", {}},
    {"white space around marks", true, true, "\n I think.\n</think>\n\nHello \n", "I think.", "Hello \n", {}},
    {"never stops thinking", true, true, "I think \n", "I think", "", {}},
    {"model writes <think> itself", true, true, "<think>a</think>b", "a", "b", {}},
    {"model writes <think> unasked", false, true, " <think>a</think>b", "a", "b", {}},
    {"<think> later is text", false, true, "a <think> b", "", "a <think> b", {}},
    {"stray </think> is text", false, true, "a</think>b", "", "a</think>b", {}},
    {"second </think> is text", true, true, "a</think>b</think>c", "a", "b</think>c", {}},
    {"almost marks",
     true,
     true,
     "a < b </thin </think>x <tool_cal <tool> </tool_call>",
     "a < b </thin",
     "x <tool_cal <tool> </tool_call>",
     {}},
    {"partial mark at the end", true, true, "a</thi", "a</thi", "", {}},
    {"partial call mark at the end", false, true, "a <tool_c", "", "a <tool_c", {}},
    {"scripts", true, true, "思考中…😀</think>你好 👋🏽\u3000", "思考中…😀", "你好 👋🏽\u3000", {}},
    {"call",
     true,
     true,
     "Need it.</think>\n<tool_call>weather<arg_key>city</arg_key><arg_value>Zürich</arg_value></tool_call>",
     "Need it.",
     "",
     {{"weather", R"({"city": "Zürich"})"}}},
    {"call ends reasoning", true, true, "Need it. <tool_call>now</tool_call>", "Need it.", "", {{"now", "{}"}}},
    {"typed arguments",
     false,
     true,
     "<tool_call>weather<arg_key>city</arg_key><arg_value>5</arg_value><arg_key>days</arg_key><arg_value>5</arg_value>"
     "<arg_key>unit</arg_key><arg_value>true</arg_value><arg_key>x</arg_key><arg_value>[1, {\"a\": null}]</arg_value>"
     "<arg_key>y</arg_key><arg_value>free text</arg_value></tool_call>",
     "",
     "",
     {{"weather", R"({"city": "5", "days": 5, "unit": "true", "x": [1, {"a": null}], "y": "free text"})"}}},
    {"older form with line breaks",
     false,
     true,
     "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>a\n "
     "b</arg_value>\n<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n</tool_call>",
     "",
     "",
     {{"weather", R"({"city": "a\n b", "days": 2})"}}},
    {"two calls and text",
     false,
     true,
     "Wait. <tool_call>now</tool_call>\n<tool_call>weather</tool_call>\nDone.",
     "",
     "Wait.Done.",
     {{"now", "{}"}, {"weather", "{}"}}},
    {"value that speaks of calls",
     false,
     true,
     "<tool_call>f<arg_key>a</arg_key><arg_value></tool_call><arg_key></think></arg_value></tool_call>x",
     "",
     "x",
     {{"f", R"({"a": "</tool_call><arg_key></think>"})"}}},
    {"cut call", false, true, "Wait. <tool_call>weather<arg_key>ci", "", "Wait.<tool_call>weather<arg_key>ci", {}},
    {"cut inside a value",
     false,
     true,
     "<tool_call>f<arg_key>a</arg_key><arg_value>b</tool_call>",
     "",
     "<tool_call>f<arg_key>a</arg_key><arg_value>b</tool_call>",
     {}},
    {"half an argument", false, true, "<tool_call>f<arg_key>a</arg_key></tool_call>", "", "", {{"f", "{}"}}},
    {"call of nothing", false, true, "<tool_call> </tool_call>", "", "<tool_call> </tool_call>", {}},
    {"no tools given",
     true,
     false,
     "a<tool_call>b</think>c<tool_call>d</tool_call>",
     "a<tool_call>b",
     "c<tool_call>d</tool_call>",
     {}},
};

/// Feeds `text` in pieces of `size` characters (0: in one).
ChatDelta split(const Case& item, std::size_t size) {
  ChatOutputSplitter::Options options;
  options.starts_in_reasoning = item.reasoning;
  if (item.tools) options.tools = {weather_tool, "not JSON", "{}"};
  ChatOutputSplitter splitter(options);
  ChatDelta all;
  const auto take = [&](const ChatDelta& delta) {
    all.reasoning += delta.reasoning;
    all.content += delta.content;
    all.tool_calls.insert(all.tool_calls.end(), delta.tool_calls.begin(), delta.tool_calls.end());
  };
  const std::string_view text = item.text;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin;
    for (std::size_t i = 0; end < text.size() && (size == 0 || i < size); ++i) next_code_point(text, end);
    take(splitter.push(text.substr(begin, end - begin)));
    begin = end;
  }
  take(splitter.finish());
  return all;
}

TEST(ChatOutput, SplitsHoweverTheTextIsCut) {
  for (const Case& item : cases) {
    for (const std::size_t size : {0, 1, 2, 3, 5, 7, 11, 13, 40}) {
      const ChatDelta got = split(item, size);
      EXPECT_EQ(got.reasoning, item.expected_reasoning) << item.name << " in pieces of " << size;
      EXPECT_EQ(got.content, item.expected_content) << item.name << " in pieces of " << size;
      EXPECT_EQ(got.tool_calls, item.expected_calls) << item.name << " in pieces of " << size;
    }
  }
}

TEST(ChatOutput, PassesTextOnWithoutDelay) {
  ChatOutputSplitter splitter({.starts_in_reasoning = true, .tools = {}});
  EXPECT_EQ(splitter.push("I th").reasoning, "I th");
  EXPECT_EQ(splitter.push("ink <").reasoning, "ink");
  EXPECT_EQ(splitter.push(" b").reasoning, " < b");
  EXPECT_TRUE(splitter.push("</think>").empty());
  EXPECT_EQ(splitter.push("Yes").content, "Yes");
}

}  // namespace
}  // namespace wavetune::model
