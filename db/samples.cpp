#include "db/samples.h"

#include <bit>
#include <charconv>
#include <cstring>

#include "db/base/error.h"

namespace wavetune::db {

static_assert(std::endian::native == std::endian::little, "samples are stored little-endian");

std::vector<std::byte> pack_samples(const std::vector<double>& samples) {
  const auto bytes = std::as_bytes(std::span(samples));
  return {bytes.begin(), bytes.end()};
}

std::vector<double> unpack_samples(std::span<const std::byte> bytes) {
  if (bytes.size() % sizeof(double) != 0) {
    fail(ErrorKind::bad_data, "a trial in the database has samples of {} bytes, which are not whole numbers",
         bytes.size());
  }
  std::vector<double> samples(bytes.size() / sizeof(double));
  if (!bytes.empty()) std::memcpy(samples.data(), bytes.data(), bytes.size());
  return samples;
}

std::vector<double> samples_from_text(std::string_view text) {
  std::vector<double> samples;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end && (*at == '[' || *at == ',')) {
    double value = 0;
    const auto [next, error] = std::from_chars(at + 1, end, value);
    if (error != std::errc{}) break;
    samples.push_back(value);
    at = next;
  }
  if (at >= end || end - at > 2 || end[-1] != ']') {
    fail(ErrorKind::bad_data, "a trial in the database has samples that are not a list of numbers: '{}'", text);
  }
  return samples;
}

}  // namespace wavetune::db
