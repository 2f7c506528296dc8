// Against what Hugging Face tokenizers makes of the same texts (tests/golden/tokenizer/cases.json).
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "db/base/file.h"
#include "model/tokenizer/tokenizer.h"
#include "tests/model/golden.h"

namespace wavetune::model {
namespace {

using nlohmann::json;

class TokenizerGolden : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::filesystem::path folder = golden_folder() / "tokenizer";
    cases_ = json::parse(read_file(folder / "cases.json"));
    for (const auto& [name, file] : cases_["files"].items()) {
      const std::filesystem::path path = folder / file.get<std::string>();
      tokenizers_.emplace(name, Tokenizer::from_json(read_file(path), path.string()));
    }
  }
  static void TearDownTestSuite() { tokenizers_.clear(); }

  static json cases_;
  static std::map<std::string, Tokenizer> tokenizers_;
};

json TokenizerGolden::cases_;
std::map<std::string, Tokenizer> TokenizerGolden::tokenizers_;

std::string bytes_from_hex(std::string hex) {
  std::erase(hex, ' ');
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

TEST_F(TokenizerGolden, EncodesAndDecodesAlike) {
  ASSERT_GT(cases_["cases"].size(), 300u);
  for (const json& item : cases_["cases"]) {
    // Where the case gives bytes, they are not valid UTF-8: our own repair must lead to the same text.
    const std::string text = item.contains("bytes") ? bytes_from_hex(item["bytes"]) : item["text"].get<std::string>();
    for (const auto& [name, tokenizer] : tokenizers_) {
      const json& expected = item[name];
      const auto ids = expected["ids"].get<std::vector<TokenId>>();
      EXPECT_EQ(tokenizer.encode(text, AddedTokensIn::recognised), ids) << name << ": " << item["text"];
      EXPECT_EQ(tokenizer.decode(ids, SpecialTokens::keep), expected["decoded"].get<std::string>()) << name;
      const json visible = expected.value("visible", expected["decoded"]);
      EXPECT_EQ(tokenizer.decode(ids, SpecialTokens::skip), visible.get<std::string>()) << name << ": " << item["text"];
    }
  }
}

TEST_F(TokenizerGolden, DecodesCutCharactersAlike) {
  for (const json& item : cases_["cut"]) {
    const Tokenizer& tokenizer = tokenizers_.at(item["tokenizer"]);
    EXPECT_EQ(tokenizer.decode(item["ids"].get<std::vector<TokenId>>(), SpecialTokens::keep),
              item["decoded"].get<std::string>())
        << item;
  }
}

TEST_F(TokenizerGolden, StreamsTheSameTextInWholeCharacters) {
  for (const json& item : cases_["cases"]) {
    for (const auto& [name, tokenizer] : tokenizers_) {
      StreamDecoder decoder(tokenizer, SpecialTokens::keep);
      std::string text;
      for (const TokenId id : item[name]["ids"]) {
        const std::string piece = decoder.push(id);
        EXPECT_EQ(repaired_utf8(piece), piece) << "a piece that is not UTF-8 by itself";
        text += piece;
      }
      text += decoder.finish();
      EXPECT_EQ(text, item[name]["decoded"].get<std::string>());
    }
  }
}

TEST_F(TokenizerGolden, PlainTextNeverBecomesAnAddedToken) {
  for (const json& item : cases_["cases"]) {
    const auto text = item["text"].get<std::string>();
    for (const auto& [name, tokenizer] : tokenizers_) {
      const TokenId first_added =
          *tokenizer.added_token("<|endoftext|>");  // the added ones are the last ids in these files
      const auto ids = tokenizer.encode(text, AddedTokensIn::plain_text);
      for (const TokenId id : ids) EXPECT_LT(id, first_added) << name << ": " << text;
      EXPECT_EQ(tokenizer.decode(ids, SpecialTokens::skip), text);
    }
  }
}

}  // namespace
}  // namespace wavetune::model
