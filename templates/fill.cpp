#include "templates/fill.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>

#include "db/base/error.h"

namespace wavetune::templates {
namespace {

/// Numbers by their place in a tensor (splitmix64), so that blocks can be filled side by side and come out the same
/// whoever fills them.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : seed_(seed) {}
  std::uint64_t operator()(std::int64_t place) const {
    std::uint64_t bits = seed_ + (static_cast<std::uint64_t>(place) + 1) * 0x9E3779B97F4A7C15;
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9;
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EB;
    return bits ^ bits >> 31;
  }

 private:
  std::uint64_t seed_;
};

constexpr std::int64_t block_elements = std::int64_t{1} << 14;

/// fill(begin, end) for blocks of `count` elements; blocks begin at multiples of block_elements.
template <class Fill>
void in_blocks(std::int64_t count, const Fill& fill) {
  const std::int64_t blocks = (count + block_elements - 1) / block_elements;
  tbb::parallel_for(std::int64_t{0}, blocks, [&](std::int64_t block) {
    fill(block * block_elements, std::min(count, (block + 1) * block_elements));
  });
}

double unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

/// Sum of four 16-bit uniforms, centred, with variance 1: near enough to normal, from one draw.
double near_normal(std::uint64_t bits) {
  const auto sum = static_cast<double>((bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48));
  return (sum - 131070.0) * (1.7320508075688772 / 65536.0);
}

// Weights of hundreds of experts have billions of elements. So many are drawn; what follows repeats all of them but a
// few, so that the period fits no row and no tile: no two experts have the same values.
constexpr std::int64_t drawn_elements = std::int64_t{1} << 22;
constexpr std::int64_t left_out = 18;  // even, since fp4 has two elements in a byte

std::size_t drawn_bytes(DType type) { return bytes_for(type, drawn_elements - left_out); }

/// Bytes from `period` on are those `period` before.
void repeat(std::span<std::byte> bytes, std::size_t period) {
  for (std::size_t at = period; at < bytes.size(); at += period)
    std::memcpy(bytes.data() + at, bytes.data(), std::min(period, bytes.size() - at));
}

}  // namespace

void fill_normal(HostTensor& tensor, std::mt19937_64& random, double scale) {
  constexpr std::int64_t outlier_period = 512;
  const std::int64_t drawn = std::min(tensor.count(), drawn_elements);
  const Draws draw(random()), draw_outlier(random());
  in_blocks(drawn, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) tensor.set(i, scale * near_normal(draw(i)));
    for (std::int64_t i = begin; i + outlier_period <= end; i += outlier_period) {
      const std::int64_t at = i + static_cast<std::int64_t>(draw_outlier(i) % outlier_period);
      tensor.set(at, 8.0 * tensor.at(at));
    }
  });
  if (drawn < tensor.count()) repeat(tensor.bytes(), drawn_bytes(tensor.dtype()));
}

void fill_uniform(HostTensor& tensor, std::mt19937_64& random, double low, double high) {
  const std::int64_t drawn = std::min(tensor.count(), drawn_elements);
  const Draws draw(random());
  in_blocks(drawn, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) tensor.set(i, low + (high - low) * unit(draw(i)));
  });
  if (drawn < tensor.count()) repeat(tensor.bytes(), drawn_bytes(tensor.dtype()));
}

void fill_indices(HostTensor& tensor, std::mt19937_64& random, std::int64_t low, std::int64_t high) {
  if (high <= low) fail(ErrorKind::internal, "empty index range [{}, {})", low, high);
  const auto range = static_cast<std::uint64_t>(high - low);
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    tensor.set(i, static_cast<double>(low + static_cast<std::int64_t>(random() % range)));
  }
}

void fill_distinct(HostTensor& tensor, std::mt19937_64& random, std::int64_t limit) {
  if (limit < tensor.count()) fail(ErrorKind::internal, "{} distinct indices below {}", tensor.count(), limit);
  std::vector<std::int64_t> all(static_cast<std::size_t>(limit));
  std::iota(all.begin(), all.end(), 0);
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    std::swap(all[at], all[at + random() % (all.size() - at)]);
    tensor.set(i, static_cast<double>(all[at]));
  }
}

}  // namespace wavetune::templates
