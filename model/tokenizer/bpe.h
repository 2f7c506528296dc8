// Byte-pair encoding of one word.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace wavetune::model {

using TokenId = std::int32_t;

/// Immutable after construction; encode() is thread-safe.
class Bpe {
 public:
  struct Merge {
    TokenId left = 0, right = 0, result = 0;
  };

  /// `vocabulary` maps byte strings to ids and holds all 256 single bytes (bad_data otherwise, with `source` in the
  /// message); `merges` are in order of rank. With `ignore_merges` a word that is in the vocabulary is one token even
  /// when merges do not lead there.
  Bpe(std::unordered_map<std::string, TokenId> vocabulary, const std::vector<Merge>& merges, bool ignore_merges,
      const std::string& source);

  /// Appends the tokens of a word. Time O(n log n) in its length.
  void encode(std::string_view word, std::vector<TokenId>& out) const;

  const std::unordered_map<std::string, TokenId>& vocabulary() const { return vocabulary_; }

 private:
  struct Result {
    std::uint32_t rank = 0;
    TokenId id = 0;
  };
  const Result* find_merge(TokenId left, TokenId right) const;
  void encode_short(std::string_view word, std::vector<TokenId>& out) const;
  void encode_long(std::string_view word, std::vector<TokenId>& out) const;

  std::unordered_map<std::string, TokenId> vocabulary_;
  std::unordered_map<std::uint64_t, Result> merges_;
  std::array<TokenId, 256> byte_ids_{};
  bool ignore_merges_;
};

}  // namespace wavetune::model
