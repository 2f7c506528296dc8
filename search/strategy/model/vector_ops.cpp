#include "search/strategy/model/vector_ops.h"

#include <cstddef>

// GCC makes one copy for each target and the loader picks; other compilers have the default one.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define WAVETUNE_WIDE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define WAVETUNE_WIDE
#endif

namespace wavetune::search {

WAVETUNE_WIDE void subtract_scaled(std::span<float> y, float factor, std::span<const float> x) {
  float* const out = y.data();
  const float* const in = x.data();
  const std::size_t size = y.size();
  for (std::size_t i = 0; i < size; ++i) out[i] -= factor * in[i];
}

WAVETUNE_WIDE void divide_and_subtract_squares(std::span<float> x, float divisor, std::span<float> y) {
  float* const divided = x.data();
  float* const out = y.data();
  const std::size_t size = x.size();
  for (std::size_t i = 0; i < size; ++i) {
    divided[i] /= divisor;
    out[i] -= divided[i] * divided[i];
  }
}

}  // namespace wavetune::search
