#include "db/base/hash.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace wavetune {

std::string content_hash(std::string_view bytes) {
  const XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", h.high64, h.low64);
}

}  // namespace wavetune
