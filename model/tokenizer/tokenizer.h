// Text to token ids and back, from Hugging Face's tokenizer.json (byte-level BPE).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/tokenizer/bpe.h"
#include "model/tokenizer/utf8.h"

namespace wavetune::model {

/// What encode does where the text spells an added token ("<|user|>").
enum class AddedTokensIn {
  recognised,  ///< it becomes that token: for text that we wrote
  plain_text,  ///< it is ordinary text: for what users write, so that it cannot pose as a role mark
};

/// What decode does with tokens that the file calls special; added tokens that are not special are always text.
enum class SpecialTokens { keep, skip };

/// Immutable; all methods are thread-safe.
class Tokenizer {
 public:
  /// Reads DIR/tokenizer.json. Throws Error: not_found, bad_data (malformed; the message names file and field),
  /// incompatible (a model, normaliser or pre-tokenizer that this build does not know, named).
  static Tokenizer load(const std::filesystem::path& model_directory);
  static Tokenizer from_json(std::string_view text, const std::string& source);
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  /// Bytes that are not UTF-8 are replaced first, as Python's errors="replace" does. The same ids as Hugging Face's
  /// encode(text, add_special_tokens=False). `plain_text` treats added tokens that are not special as text, too.
  std::vector<TokenId> encode(std::string_view text, AddedTokensIn added) const;
  /// Valid UTF-8: what is not is replaced. Ids that no token has (vocabularies are padded) give nothing.
  std::string decode(std::span<const TokenId> ids, SpecialTokens special) const;

  /// The bytes of one token; empty for an id that no token has.
  std::string_view bytes_of(TokenId id) const;
  /// Whether the file calls the token special.
  bool is_special(TokenId id) const;
  /// The id of an added token by its text, e.g. "<|user|>".
  std::optional<TokenId> added_token(std::string_view content) const;
  /// Largest id + 1.
  std::int64_t size() const;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<const Impl> impl);
  std::unique_ptr<const Impl> impl_;
};

/// Decodes token by token: the pieces put together equal Tokenizer::decode of all ids, and no piece ends inside a
/// character.
class StreamDecoder {
 public:
  StreamDecoder(const Tokenizer& tokenizer, SpecialTokens special) : tokenizer_(&tokenizer), special_(special) {}
  std::string push(TokenId id);
  std::string push(std::span<const TokenId> ids);
  /// The end of the text: a character that was not completed becomes U+FFFD.
  std::string finish() { return stream_.finish(); }

 private:
  const Tokenizer* tokenizer_;
  SpecialTokens special_;
  Utf8Stream stream_;
};

}  // namespace wavetune::model
