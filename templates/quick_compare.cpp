#include "templates/quick_compare.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace wavetune::templates {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

template <class T, class Load>
double worst_of(const HostTensor& got, const HostTensor& expected, const Tolerance& tolerance, const Load& load) {
  const T* const g = got.as<T>().data();
  const T* const e = expected.as<T>().data();
  const auto worst_in = [&](const tbb::blocked_range<std::int64_t>& range, double worst) {
    for (std::int64_t i = range.begin(); i < range.end(); ++i) {
      const double a = load(g[i]), b = load(e[i]);
      const double d = std::fabs(a - b) / (tolerance.absolute + tolerance.relative * std::fabs(b));
      if (!(d <= worst) && a != b) worst = std::isfinite(d) ? d : infinite;
    }
    return worst;
  };
  constexpr std::int64_t grain = std::int64_t{1} << 16;
  return tbb::parallel_reduce(tbb::blocked_range<std::int64_t>(0, got.count(), grain), 0.0, worst_in,
                              [](double a, double b) { return std::max(a, b); });
}

}  // namespace

std::optional<double> quick_worst(const HostTensor& got, const HostTensor& expected, const Tolerance& tolerance) {
  if (got.count() != expected.count()) return std::nullopt;
  switch (got.dtype()) {
    case DType::f32:
      return worst_of<float>(got, expected, tolerance, [](float value) { return static_cast<double>(value); });
    case DType::bf16:
      return worst_of<std::uint16_t>(got, expected, tolerance, [](std::uint16_t value) {
        return static_cast<double>(std::bit_cast<float>(std::uint32_t{value} << 16));
      });
    default:
      return std::nullopt;
  }
}

}  // namespace wavetune::templates
