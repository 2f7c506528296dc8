#include "db/base/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "db/base/error.h"

namespace wavetune {
namespace {

constexpr int gzip_window_bits = MAX_WBITS + 16;  // 16: with gzip's header and trailer instead of zlib's
constexpr std::size_t chunk = std::size_t{1} << 18;
constexpr int memory_level = 8;  // zlib's default

/// zlib does not write to its input, but its type says so.
Bytef* input_bytes(std::string_view text) { return reinterpret_cast<Bytef*>(const_cast<char*>(text.data())); }

/// Gives zlib the next part of `rest` that its 32-bit counter holds.
void feed(z_stream& stream, std::string_view& rest) {
  if (stream.avail_in != 0 || rest.empty()) return;
  const std::size_t part = std::min<std::size_t>(rest.size(), std::numeric_limits<uInt>::max());
  stream.next_in = input_bytes(rest);
  stream.avail_in = static_cast<uInt>(part);
  rest.remove_prefix(part);
}

class Inflater {
 public:
  Inflater() {
    if (inflateInit2(&stream, gzip_window_bits) != Z_OK) fail(ErrorKind::internal, "zlib cannot start inflating");
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  z_stream stream{};
};

class Deflater {
 public:
  Deflater() {
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_window_bits, memory_level, Z_DEFAULT_STRATEGY) !=
        Z_OK) {
      fail(ErrorKind::internal, "zlib cannot start deflating");
    }
  }
  ~Deflater() { deflateEnd(&stream); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;
  z_stream stream{};
};

}  // namespace

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

std::string gunzip(std::string_view bytes, const std::string& name) {
  Inflater inflater;
  z_stream& stream = inflater.stream;
  std::string_view rest = bytes;
  std::string content;
  std::string buffer(chunk, '\0');
  for (;;) {
    feed(stream, rest);
    const bool starved = stream.avail_in == 0;
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    const int code = inflate(&stream, Z_NO_FLUSH);
    content.append(buffer, 0, buffer.size() - stream.avail_out);
    if (code == Z_STREAM_END) {
      if (stream.avail_in == 0 && rest.empty()) return content;
      inflateReset(&stream);  // another member follows
      continue;
    }
    if (code == Z_BUF_ERROR && starved) {
      fail(ErrorKind::bad_data, "{}: the gzip data end early, after {} bytes of content: was it copied completely?",
           name, content.size());
    }
    if (code != Z_OK) {
      fail(ErrorKind::bad_data, "{}: damaged gzip data after {} bytes of content: {}", name, content.size(),
           stream.msg != nullptr ? stream.msg : zError(code));
    }
  }
}

std::string gzip(std::string_view content) {
  Deflater deflater;
  z_stream& stream = deflater.stream;
  std::string_view rest = content;
  std::string bytes;
  std::string buffer(chunk, '\0');
  for (;;) {
    feed(stream, rest);
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    const int code = deflate(&stream, rest.empty() ? Z_FINISH : Z_NO_FLUSH);
    bytes.append(buffer, 0, buffer.size() - stream.avail_out);
    if (code == Z_STREAM_END) return bytes;
    if (code != Z_OK) fail(ErrorKind::internal, "zlib cannot compress {} bytes: {}", content.size(), zError(code));
  }
}

}  // namespace wavetune
