#include "model/tokenizer/nfc.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <unordered_map>
#include <vector>

#include "model/tokenizer/utf8.h"

namespace wavetune::model {
namespace {

struct Decomposition {
  char32_t character, first, second;
};
struct CombiningClass {
  char32_t first, last;
  std::uint8_t value;
};
#include "model/tokenizer/nfc_classes.inc"
#include "model/tokenizer/nfc_pairs.inc"

// Hangul syllables are computed (Unicode chapter 3.12).
constexpr char32_t hangul = 0xac00, leading = 0x1100, vowel = 0x1161, trailing = 0x11a7;
constexpr char32_t vowels = 21, trailings = 28, syllables = 19 * vowels * trailings;

struct Tables {
  std::unordered_map<char32_t, Decomposition> decompositions;
  std::unordered_map<std::uint64_t, char32_t> compositions;  ///< first << 32 | second
};

const Tables& tables() {
  static const Tables instance = [] {
    Tables result;
    for (const Decomposition& pair : composing_pairs) {
      result.decompositions.emplace(pair.character, pair);
      result.compositions.emplace((static_cast<std::uint64_t>(pair.first) << 32) | pair.second, pair.character);
    }
    for (const Decomposition& pair : other_decompositions) result.decompositions.emplace(pair.character, pair);
    return result;
  }();
  return instance;
}

std::uint8_t combining_class(char32_t code) {
  const auto* found = std::upper_bound(std::begin(combining_classes), std::end(combining_classes), code,
                                       [](char32_t value, const CombiningClass& range) { return value < range.first; });
  if (found == std::begin(combining_classes)) return 0;
  --found;
  return code <= found->last ? found->value : std::uint8_t{0};
}

void decompose(char32_t code, std::vector<char32_t>& out) {
  if (code >= hangul && code < hangul + syllables) {
    const char32_t index = code - hangul;
    out.push_back(leading + index / (vowels * trailings));
    out.push_back(vowel + index % (vowels * trailings) / trailings);
    if (index % trailings != 0) out.push_back(trailing + index % trailings);
    return;
  }
  const auto found = tables().decompositions.find(code);
  if (found == tables().decompositions.end()) {
    out.push_back(code);
    return;
  }
  decompose(found->second.first, out);
  if (found->second.second != 0) decompose(found->second.second, out);
}

/// Sorts each run of combining marks by class, equal ones staying in order.
void order_marks(std::vector<char32_t>& codes) {
  for (auto run = codes.begin(); run != codes.end();) {
    run = std::find_if(run, codes.end(), [](char32_t code) { return combining_class(code) != 0; });
    const auto end = std::find_if(run, codes.end(), [](char32_t code) { return combining_class(code) == 0; });
    std::stable_sort(run, end, [](char32_t a, char32_t b) { return combining_class(a) < combining_class(b); });
    run = end;
  }
}

/// The composed character, or 0.
char32_t composed(char32_t first, char32_t second) {
  if (first >= leading && first < leading + 19 && second >= vowel && second < vowel + vowels) {
    return hangul + ((first - leading) * vowels + (second - vowel)) * trailings;
  }
  if (first >= hangul && first < hangul + syllables && (first - hangul) % trailings == 0 && second > trailing &&
      second < trailing + trailings) {
    return first + (second - trailing);
  }
  const auto found = tables().compositions.find((static_cast<std::uint64_t>(first) << 32) | second);
  return found == tables().compositions.end() ? 0 : found->second;
}

/// Puts marks into the last starter unless a mark of the same or a higher class, or another starter, stands between.
std::vector<char32_t> compose(const std::vector<char32_t>& codes) {
  std::vector<char32_t> out;
  std::size_t starter = 0;
  bool has_starter = false;
  int last_class = -1;  // -1: nothing stands between the starter and this character
  for (const char32_t code : codes) {
    const int current = combining_class(code);
    if (has_starter && last_class < current) {
      if (const char32_t whole = composed(out[starter], code); whole != 0) {
        out[starter] = whole;
        continue;
      }
    }
    if (current == 0) {
      starter = out.size();
      has_starter = true;
      last_class = -1;
    } else {
      last_class = current;
    }
    out.push_back(code);
  }
  return out;
}

}  // namespace

std::string to_nfc(std::string_view text) {
  // Nothing below U+0300 is changed or combines (Unicode's quick check).
  const auto plain = [](unsigned char byte) { return byte < 0xcc; };
  if (std::all_of(text.begin(), text.end(), plain)) return std::string(text);
  std::vector<char32_t> codes;
  for (std::size_t position = 0; position < text.size();) decompose(next_code_point(text, position), codes);
  order_marks(codes);
  std::string out;
  for (const char32_t code : compose(codes)) append_utf8(out, code);
  return out;
}

}  // namespace wavetune::model
