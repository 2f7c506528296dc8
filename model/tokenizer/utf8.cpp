#include "model/tokenizer/utf8.h"

namespace wavetune::model {
namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd";  // U+FFFD

}  // namespace

std::string Utf8Stream::push(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() + 4);
  for (const char byte : bytes) push_byte(static_cast<unsigned char>(byte), out);
  return out;
}

void Utf8Stream::push_byte(unsigned char byte, std::string& out) {
  if (missing_ > 0) {
    if (byte >= low_ && byte <= high_) {
      held_ += static_cast<char>(byte);
      low_ = 0x80;
      high_ = 0xbf;
      if (--missing_ == 0) {
        out += held_;
        held_.clear();
      }
      return;
    }
    out += replacement;  // what was held can not go on; this byte begins anew
    held_.clear();
    missing_ = 0;
  }
  if (byte < 0x80) {
    out += static_cast<char>(byte);
    return;
  }
  // The first continuation byte's range excludes overlong forms, surrogates and values above U+10FFFF.
  low_ = 0x80;
  high_ = 0xbf;
  if (byte >= 0xc2 && byte <= 0xdf) {
    missing_ = 1;
  } else if (byte >= 0xe0 && byte <= 0xef) {
    missing_ = 2;
    if (byte == 0xe0) low_ = 0xa0;
    if (byte == 0xed) high_ = 0x9f;
  } else if (byte >= 0xf0 && byte <= 0xf4) {
    missing_ = 3;
    if (byte == 0xf0) low_ = 0x90;
    if (byte == 0xf4) high_ = 0x8f;
  } else {
    out += replacement;
    return;
  }
  held_ = static_cast<char>(byte);
}

std::string Utf8Stream::finish() {
  const bool unfinished = missing_ > 0;
  held_.clear();
  missing_ = 0;
  return std::string(unfinished ? replacement : "");
}

std::string repaired_utf8(std::string_view bytes) {
  Utf8Stream stream;
  std::string out = stream.push(bytes);
  out += stream.finish();
  return out;
}

void append_utf8(std::string& out, char32_t code) {
  const auto byte = [&](char32_t value) { out += static_cast<char>(static_cast<unsigned char>(value)); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xc0 | (code >> 6));
    byte(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    byte(0xe0 | (code >> 12));
    byte(0x80 | ((code >> 6) & 0x3f));
    byte(0x80 | (code & 0x3f));
  } else {
    byte(0xf0 | (code >> 18));
    byte(0x80 | ((code >> 12) & 0x3f));
    byte(0x80 | ((code >> 6) & 0x3f));
    byte(0x80 | (code & 0x3f));
  }
}

char32_t next_code_point(std::string_view text, std::size_t& position) {
  const auto byte = [&] {
    const std::size_t at = position++;
    return at < text.size() ? static_cast<unsigned char>(text[at]) : static_cast<unsigned char>(0);
  };
  const unsigned char first = byte();
  if (first < 0x80) return first;
  const int following = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
  char32_t code = first & (0x3fu >> following);
  for (int i = 0; i < following; ++i) code = (code << 6) | (byte() & 0x3fu);
  return code;
}

}  // namespace wavetune::model
