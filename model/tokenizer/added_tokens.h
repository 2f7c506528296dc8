// Tokens that are found in the text before it is cut into words: role marks, <think>, ...
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "model/tokenizer/bpe.h"

namespace wavetune::model {

struct AddedToken {
  TokenId id = 0;
  std::string content;
  bool special = false;     ///< left out by decode with SpecialTokens::skip
  bool normalized = false;  ///< looked for in the normalised text, after the others
};

/// Finds the leftmost token, of those that begin there the longest. Thread-safe once filled.
class AddedTokenMatcher {
 public:
  void add(const AddedToken& token);

  struct Piece {
    std::string_view text;
    TokenId id = -1;  ///< -1: ordinary text
  };
  /// Cuts `text` at every token; the pieces together make up `text`, none is empty.
  std::vector<Piece> split(std::string_view text) const;

 private:
  std::array<std::vector<AddedToken>, 256> by_first_byte_;  ///< longest first
};

}  // namespace wavetune::model
