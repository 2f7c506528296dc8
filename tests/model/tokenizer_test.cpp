#include "model/tokenizer/tokenizer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "db/base/file.h"
#include "model/tokenizer/nfc.h"
#include "tests/model/errors.h"
#include "tests/model/golden.h"

namespace wavetune::model {
namespace {

using nlohmann::json;

json demo_json() { return json::parse(read_file(demo_folder() / "tokenizer.json")); }
Tokenizer parse(const json& value) { return Tokenizer::from_json(value.dump(), "t.json"); }

TEST(Tokenizer, KnowsItsAddedTokens) {
  const Tokenizer tokenizer = Tokenizer::load(demo_folder());
  EXPECT_EQ(tokenizer.size(), 1021);
  EXPECT_EQ(tokenizer.added_token("<|user|>"), 1007);
  EXPECT_EQ(tokenizer.added_token("user"), std::nullopt);
  EXPECT_TRUE(tokenizer.is_special(1007));
  EXPECT_FALSE(tokenizer.is_special(1011));  // <think>
  EXPECT_EQ(tokenizer.bytes_of(1011), "<think>");
  for (const TokenId id : {-1, 1021, 2000000000}) EXPECT_EQ(tokenizer.bytes_of(id), "");
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{1022, -5, 1007}, SpecialTokens::keep), "<|user|>");
}

TEST(Tokenizer, LongWordsTakeNoQuadraticTime) {
  const Tokenizer tokenizer = Tokenizer::load(golden_folder() / "tokenizer");
  std::string text;
  for (int i = 0; i < 400000; ++i) text += static_cast<char>('a' + (i * i + i / 7) % 26);
  text += std::string(400000, ' ') + std::string(400000, '=') + std::string(400000, '\n');
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(text, AddedTokensIn::recognised), SpecialTokens::keep), text);
}

TEST(Tokenizer, ManyThreadsShareOne) {
  const Tokenizer tokenizer = Tokenizer::load(golden_folder() / "tokenizer");
  const std::string text = "Thread safety: größer, 你好, 😀 and <|user|> 12345.\n";
  const auto expected = tokenizer.encode(text, AddedTokensIn::recognised);
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int j = 0; j < 200; ++j) wrong[i] += tokenizer.encode(text, AddedTokensIn::recognised) == expected ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

TEST(Tokenizer, IgnoreMergesTakesWholeWords) {
  json value = demo_json();
  value["model"]["vocab"]["qzx"] = 1021;
  EXPECT_EQ(parse(value).encode("qzx", AddedTokensIn::recognised).size(), 3u);
  value["model"]["ignore_merges"] = true;
  EXPECT_EQ(parse(value).encode("qzx", AddedTokensIn::recognised), (std::vector<TokenId>{1021}));
}

TEST(Tokenizer, ByteLevelAloneSplitsAsGpt2) {
  json value = demo_json();
  value["pre_tokenizer"] = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}};
  const Tokenizer tokenizer = parse(value);
  // GPT-2's pattern keeps "!\n" apart where GLM's takes them together.
  const auto words = tokenizer.encode("Hello world!\n", AddedTokensIn::recognised);
  EXPECT_EQ(tokenizer.decode(words, SpecialTokens::keep), "Hello world!\n");
  value["pre_tokenizer"]["add_prefix_space"] = true;
  EXPECT_EQ(parse(value).decode(parse(value).encode("Hello", AddedTokensIn::recognised), SpecialTokens::keep),
            " Hello");
  value["pre_tokenizer"] = {{"type", "Sequence"},
                            {"pretokenizers",
                             {{{"type", "Split"}, {"pattern", {{"String", "+"}}}, {"behavior", "Isolated"}},
                              {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}}}};
  EXPECT_EQ(parse(value).encode("+++", AddedTokensIn::recognised).size(), 3u);
}

TEST(Tokenizer, NormalizedTokensAreFoundAfterNormalising) {
  json value = demo_json();
  value["normalizer"] = {{"type", "NFC"}};
  value["added_tokens"].push_back({{"id", 1021}, {"content", "caf\u00e9"}, {"normalized", true}, {"special", false}});
  const Tokenizer tokenizer = parse(value);
  EXPECT_EQ(tokenizer.encode("cafe\u0301", AddedTokensIn::recognised), (std::vector<TokenId>{1021}));
  EXPECT_EQ(tokenizer.encode("e\u0301", AddedTokensIn::plain_text),
            tokenizer.encode("\u00e9", AddedTokensIn::plain_text));
}

TEST(Nfc, ComposesAsUnicodeSays) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {"plain", "plain"},
      {"e\u0301", "\u00e9"},
      {"\u00e9", "\u00e9"},
      {"\u212b", "\u00c5"},                                         // singleton
      {"\u0958", "\u0915\u093c"},                                   // excluded from composition
      {"a\u0315\u0300\u05ae\u0300b", "\u00e0\u05ae\u0300\u0315b"},  // from NormalizationTest.txt
      {"\u1112\u1161\u11ab", "\ud55c"},
      {"\uac00\u11a8", "\uac01"},
      {"\uac01\u11a8", "\uac01\u11a8"},
      {"\u1e9b\u0323", "\u1e9b\u0323"},
      {"s\u0323\u0307", "\u1e69"},
      {"q\u0307\u0323", "q\u0323\u0307"},
      {"\u0301e", "\u0301e"},
      {"a\u05d0\u0301", "a\u05d0\u0301"},
      {"\U0001d15e", "\U0001d157\U0001d165"},
      {"😀", "😀"}};
  for (const auto& [from, to] : cases) EXPECT_EQ(to_nfc(from), to) << from;
}

TEST(Utf8, ReplacesEachMaximalSubpartOnce) {
  const std::pair<std::string_view, const char*> cases[] = {{"\xff", "\ufffd"},
                                                            {"a\xc3", "a\ufffd"},
                                                            {"\xe2\x82", "\ufffd"},
                                                            {"\xe2\x82\x41", "\ufffd\x41"},
                                                            {"\xc0\xaf", "\ufffd\ufffd"},
                                                            {"\xed\xa0\x80", "\ufffd\ufffd\ufffd"},
                                                            {"\xf0\x9f\x98", "\ufffd"},
                                                            {"\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd"},
                                                            {"\xf0\x80\x80\x80", "\ufffd\ufffd\ufffd\ufffd"},
                                                            {"\xe0\x80\x80", "\ufffd\ufffd\ufffd"},
                                                            {"\xe2\xe2\x82\xac", "\ufffd\u20ac"}};
  for (const auto& [from, to] : cases) {
    EXPECT_EQ(repaired_utf8(from), to);
    Utf8Stream stream;
    std::string pieces;
    for (const char byte : from) pieces += stream.push({&byte, 1});
    EXPECT_EQ(pieces + stream.finish(), to);
    EXPECT_EQ(stream.push("ok"), "ok");
  }
}

TEST(Tokenizer, RefusesWhatItDoesNotKnow) {
  struct Bad {
    const char* pointer;
    json value;
    ErrorKind kind;
    const char* message;
  };
  const json split = {{"type", "Split"}, {"pattern", {{"Regex", "a"}}}, {"behavior", "Isolated"}};
  const auto with = [](json object, const char* field, const json& value) {
    object[field] = value;
    return object;
  };
  const Bad bads[] = {
      {"/model", nullptr, ErrorKind::bad_data, "field model is missing"},
      {"/model/type", "Unigram", ErrorKind::incompatible, "type Unigram is not supported"},
      {"/model/end_of_word_suffix", "</w>", ErrorKind::incompatible, "end_of_word_suffix"},
      {"/model/dropout", 0.1, ErrorKind::incompatible, "dropout"},
      {"/model/vocab", 1, ErrorKind::bad_data, "field vocab must be an object"},
      {"/model/vocab/a", "x", ErrorKind::bad_data, "the id of a is not an integer"},
      {"/model/vocab/a", 3000000000u, ErrorKind::bad_data, "the id of a is not an integer"},
      {"/model/vocab", json::object(), ErrorKind::bad_data, "not in the vocabulary"},
      {"/model/merges", 1, ErrorKind::bad_data, "field merges must be a list"},
      {"/model/merges/1", "abc", ErrorKind::bad_data, "merge 1 is neither"},
      {"/model/merges/1", {"a", "b", "c"}, ErrorKind::bad_data, "merge 1 is neither"},
      {"/model/merges/1", {"q", "z"}, ErrorKind::bad_data, "merge 1 needs qz, which is not in the vocabulary"},
      {"/model/merges/1", {"q", "你"}, ErrorKind::bad_data, "merge 1 holds a character that stands for no byte"},
      {"/decoder", nullptr, ErrorKind::incompatible, "decoder null is not supported"},
      {"/decoder/type", "WordPiece", ErrorKind::incompatible, "decoder WordPiece"},
      {"/normalizer", {{"type", "NFKC"}}, ErrorKind::incompatible, "type NFKC is not supported; null and NFC are"},
      {"/pre_tokenizer", nullptr, ErrorKind::incompatible, "no ByteLevel step"},
      {"/pre_tokenizer", {{"type", "Whitespace"}}, ErrorKind::incompatible, "type Whitespace"},
      {"/pre_tokenizer", {{"type", "Sequence"}}, ErrorKind::bad_data, "needs a list pretokenizers"},
      {"/pre_tokenizer", with(split, "behavior", "Removed"), ErrorKind::incompatible, "behavior Removed"},
      {"/pre_tokenizer", with(split, "invert", true), ErrorKind::incompatible, "invert"},
      {"/pre_tokenizer", with(split, "pattern", nullptr), ErrorKind::bad_data, "needs a pattern"},
      {"/pre_tokenizer", with(split, "pattern", json::object()), ErrorKind::bad_data, "neither Regex nor String"},
      {"/pre_tokenizer", with(split, "pattern", {{"Regex", "(a"}}), ErrorKind::bad_data, "cannot be compiled"},
      {"/pre_tokenizer", with(split, "pattern", {{"Regex", "[\\S]"}}), ErrorKind::incompatible, "\\S inside"},
      {"/added_tokens", 1, ErrorKind::bad_data, "added_tokens must be a list"},
      {"/added_tokens/0/content", "", ErrorKind::bad_data, "without content"},
      {"/added_tokens/0/id", nullptr, ErrorKind::bad_data, "<|endoftext|> has no id"},
      {"/added_tokens/0/lstrip", true, ErrorKind::incompatible, "lstrip of <|endoftext|>"},
      {"/added_tokens/0/single_word", true, ErrorKind::incompatible, "single_word of <|endoftext|>"},
  };
  for (const Bad& bad : bads) {
    json value = demo_json();
    value[json::json_pointer(bad.pointer)] = bad.value;
    SCOPED_TRACE(std::string(bad.pointer) + " = " + bad.value.dump());
    expect_error([&] { parse(value); }, bad.kind, bad.message);
  }
  json value = demo_json();
  value["model"]["merges"] = json::array();
  value["model"]["vocab"].erase("a");
  expect_error([&] { parse(value); }, ErrorKind::bad_data, "no entry for byte 0x61");
  expect_error([] { Tokenizer::from_json("{", "t.json"); }, ErrorKind::bad_data, "t.json is not valid JSON");
  expect_error([] { Tokenizer::load("/nonexistent"); }, ErrorKind::not_found, "no tokenizer.json in /nonexistent");
}

}  // namespace
}  // namespace wavetune::model
