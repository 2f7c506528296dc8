#include "model/tokenizer/pretokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "db/base/error.h"
#include "model/json_fields.h"

namespace wavetune::model {
namespace {

using nlohmann::json;

template <auto Free>
struct Deleter {
  template <class T>
  void operator()(T* pointer) const {
    Free(pointer);
  }
};
using Code = std::unique_ptr<pcre2_code, Deleter<pcre2_code_free>>;
using MatchData = std::unique_ptr<pcre2_match_data, Deleter<pcre2_match_data_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, Deleter<pcre2_match_context_free>>;
using JitStack = std::unique_ptr<pcre2_jit_stack, Deleter<pcre2_jit_stack_free>>;

/// ByteLevel's own pattern (GPT-2's), used when use_regex is on.
constexpr const char* gpt2_pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// Unicode's White_Space, which is what Oniguruma means by \s. PCRE2's has U+180E on top.
constexpr const char* white_space =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";

/// Spells out \s and \S; the rest of the syntax that tokenizers use is common to both libraries.
std::string pcre_from_oniguruma(const std::string& pattern, const std::string& source) {
  std::string out;
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char letter = pattern[i];
    if (letter == '\\' && i + 1 < pattern.size()) {
      const char escaped = pattern[++i];
      if (escaped == 's') {
        out += in_class ? std::string(white_space) : '[' + std::string(white_space) + ']';
      } else if (escaped == 'S' && !in_class) {
        out += "[^" + std::string(white_space) + ']';
      } else if (escaped == 'S') {
        fail(ErrorKind::incompatible, "{}: \\S inside a character class is not supported: {}", source, pattern);
      } else {
        out += letter;
        out += escaped;
      }
      continue;
    }
    if (letter == '[') in_class = true;
    if (letter == ']') in_class = false;
    out += letter;
  }
  return out;
}

std::string quoted(const std::string& literal) {
  std::string out;
  for (const char letter : literal) {
    if (std::string_view(R"(\^$.|?*+()[]{}-)").find(letter) != std::string_view::npos) out += '\\';
    out += letter;
  }
  return out;
}

}  // namespace

class SplitPattern::Impl {
 public:
  Impl(const std::string& pattern, const std::string& source) {
    const std::string translated = pcre_from_oniguruma(pattern, source);
    int code = 0;
    PCRE2_SIZE offset = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(), PCRE2_UTF | PCRE2_UCP,
                              &code, &offset, nullptr));
    if (!code_) {
      fail(ErrorKind::bad_data, "{}: the pattern cannot be compiled: {} at {} of {}", source, message_of(code), offset,
           translated);
    }
    // Not everywhere available; matching is then slower, nothing else.
    jit_ = pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE) == 0;
  }

  std::vector<std::string_view> split(std::string_view text) const {
    const MatchData match(pcre2_match_data_create(1, nullptr));
    const MatchContext context(pcre2_match_context_create(nullptr));
    const JitStack stack(jit_ ? pcre2_jit_stack_create(32 * 1024, 64 * 1024 * 1024, nullptr) : nullptr);
    pcre2_set_match_limit(context.get(), UINT32_MAX);
    pcre2_jit_stack_assign(context.get(), nullptr, stack.get());

    std::vector<std::string_view> words;
    std::size_t done = 0, from = 0;
    while (from < text.size()) {
      // The text is valid UTF-8; checking it again at every match would take quadratic time.
      const int found = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                                    PCRE2_NO_UTF_CHECK, match.get(), context.get());
      if (found == PCRE2_ERROR_NOMATCH) break;
      if (found < 0) fail(ErrorKind::internal, "splitting text of {} bytes failed: {}", text.size(), message_of(found));
      const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(match.get());
      const std::size_t begin = bounds[0], end = bounds[1];
      if (begin == end) {  // an empty match makes no word
        from = end + 1;
        while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xc0) == 0x80) ++from;
        continue;
      }
      if (begin > done) words.push_back(text.substr(done, begin - done));
      words.push_back(text.substr(begin, end - begin));
      done = from = end;
    }
    if (done < text.size()) words.push_back(text.substr(done));
    return words;
  }

 private:
  static std::string message_of(int code) {
    PCRE2_UCHAR buffer[256] = {};
    pcre2_get_error_message(code, buffer, sizeof buffer);
    return reinterpret_cast<const char*>(buffer);
  }

  Code code_;
  bool jit_ = false;
};

SplitPattern::SplitPattern(const std::string& pattern, const std::string& source)
    : impl_(std::make_unique<Impl>(pattern, source)) {}
SplitPattern::SplitPattern(SplitPattern&&) noexcept = default;
SplitPattern::~SplitPattern() = default;

std::vector<std::string_view> SplitPattern::split(std::string_view text) const { return impl_->split(text); }

Pretokenizer Pretokenizer::from_json(const json& value, const std::string& source) {
  Pretokenizer result;
  if (!value.is_null()) result.add(value, source + ": pre_tokenizer");
  return result;
}

void Pretokenizer::add(const json& value, const std::string& source) {
  const JsonFields fields(value, source);
  const std::string type = fields.string("type").value_or("");
  if (type == "Sequence") {
    const json* parts = fields.find("pretokenizers");
    if (parts == nullptr || !parts->is_array())
      fail(ErrorKind::bad_data, "{}: a Sequence needs a list pretokenizers", source);
    for (const json& part : *parts) add(part, source);
    return;
  }
  if (type == "ByteLevel") {
    byte_level_ = true;
    Step step;
    step.add_prefix_space = fields.boolean("add_prefix_space").value_or(true);
    if (fields.boolean("use_regex").value_or(true)) step.pattern = std::make_unique<SplitPattern>(gpt2_pattern, source);
    steps_.push_back(std::move(step));
    return;
  }
  if (type != "Split") {
    fail(ErrorKind::incompatible, "{}: type {} is not supported; Split, ByteLevel and a Sequence of them are", source,
         type);
  }
  const std::string behavior = fields.string("behavior").value_or("");
  if (behavior != "Isolated" || fields.boolean("invert").value_or(false)) {
    fail(ErrorKind::incompatible, "{}: a Split with behavior {}{} is not supported; Isolated is", source, behavior,
         behavior == "Isolated" ? " and invert" : "");
  }
  const auto pattern = fields.object("pattern");
  if (!pattern) fail(ErrorKind::bad_data, "{}: a Split needs a pattern", source);
  const auto regex = pattern->string("Regex"), literal = pattern->string("String");
  if (!regex && !literal) fail(ErrorKind::bad_data, "{}: the pattern is neither Regex nor String", source);
  steps_.push_back({false, std::make_unique<SplitPattern>(regex ? *regex : quoted(*literal), source)});
}

std::vector<std::string> Pretokenizer::split(std::string_view text) const {
  std::vector<std::string> pieces;
  if (!text.empty()) pieces.emplace_back(text);
  for (const Step& step : steps_) {
    std::vector<std::string> next;
    for (std::string& piece : pieces) {
      if (step.add_prefix_space && piece.front() != ' ') piece.insert(0, 1, ' ');
      if (!step.pattern) {
        next.push_back(std::move(piece));
        continue;
      }
      for (const std::string_view word : step.pattern->split(piece)) next.emplace_back(word);
    }
    pieces = std::move(next);
  }
  return pieces;
}

}  // namespace wavetune::model
