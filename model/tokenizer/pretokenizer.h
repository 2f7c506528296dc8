// Cuts text into the words that BPE works on: tokenizer.json's `pre_tokenizer`. Letters and digits are those of the
// installed PCRE2's Unicode version (14 in Debian 12); characters that Unicode added later are cut like symbols.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace wavetune::model {

/// A Split or ByteLevel step: every match of a pattern is a word, and so is what stands between matches. Thread-safe.
class SplitPattern {
 public:
  /// `pattern` is in Oniguruma's syntax, as Hugging Face writes it. Throws Error bad_data with PCRE2's message.
  SplitPattern(const std::string& pattern, const std::string& source);
  SplitPattern(SplitPattern&&) noexcept;
  ~SplitPattern();

  /// Cuts valid UTF-8 into words that together make up `text`.
  std::vector<std::string_view> split(std::string_view text) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

class Pretokenizer {
 public:
  /// From the JSON value: Split (Regex or String, Isolated), ByteLevel, a Sequence of these, or null (the whole text is
  /// one word). Throws Error incompatible for other kinds, bad_data for malformed ones.
  static Pretokenizer from_json(const nlohmann::json& value, const std::string& source);

  /// Words of valid UTF-8 text, in order.
  std::vector<std::string> split(std::string_view text) const;
  /// Whether a ByteLevel step is among them: the vocabulary is then written in byte-level characters.
  bool byte_level() const { return byte_level_; }

 private:
  struct Step {
    bool add_prefix_space = false;          ///< put a space before a piece that has none
    std::unique_ptr<SplitPattern> pattern;  ///< nullptr: no cut
  };
  void add(const nlohmann::json& value, const std::string& source);

  std::vector<Step> steps_;
  bool byte_level_ = false;
};

}  // namespace wavetune::model
