#include "templates/gemm/scaling.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>

#include "templates/common/launch.h"
#include "templates/fill.h"
#include "templates/gemm/product.h"

namespace wavetune::templates {

OperandSpec scale_spec(std::string name, Scaling scaling, Side side, std::int64_t batch, std::int64_t rows,
                       std::int64_t k) {
  const std::int64_t groups = ceil_div(k, 128);
  switch (scaling) {
    case Scaling::mx:
      return {std::move(name), Role::input, DType::e8m0, batch, rows, k / 32};
    case Scaling::group:
      if (side == Side::weights) return {std::move(name), Role::input, DType::f32, batch, ceil_div(rows, 128), groups};
      return {std::move(name), Role::input, DType::f32, batch, groups, rows};
    default:
      return {std::move(name), Role::input, DType::f32, batch, 1, rows};
  }
}

void fill_scaled(HostTensor& values, HostTensor* scales, double spread, std::mt19937_64& random) {
  if (scales == nullptr) {
    fill_normal(values, random, spread);
    return;
  }
  const double middle = values.dtype() == DType::fp8 ? 16.0 : 2.0;
  fill_normal(values, random, middle);
  fill_uniform(*scales, random, 0.5 * spread / middle, 2.0 * spread / middle);
}

namespace {

/// Scales of one operand of a batch, by element.
class Scales {
 public:
  Scales(const HostTensor& scales, Scaling scaling, Side side, std::int64_t batch, std::int64_t rows, std::int64_t k)
      : scales_(scales),
        scaling_(scaling),
        side_(side),
        cols_(scale_spec("", scaling, side, 1, rows, k).cols),
        begin_(batch * scale_spec("", scaling, side, 1, rows, k).count()) {}

  /// Multiplies the `k` values of row `row`.
  void apply(std::int64_t row, std::span<float> values) const {
    const auto k = static_cast<std::int64_t>(values.size());
    const std::int64_t run = scaling_ == Scaling::mx ? 32 : 128;  // elements of k with one scale
    for (std::int64_t begin_col = 0; begin_col < k; begin_col += run) {
      const double scale = at(row, begin_col);
      // Exact in float for powers of two; float scales round far below the result's own rounding.
      for (std::int64_t col = begin_col; col < std::min(k, begin_col + run); ++col) {
        float& value = values[static_cast<std::size_t>(col)];
        value = static_cast<float>(value * scale);
      }
    }
  }

 private:
  double at(std::int64_t row, std::int64_t col) const {
    switch (scaling_) {
      case Scaling::mx:
        return scales_.at(begin_ + row * cols_ + col / 32);
      case Scaling::group:
        return scales_.at(begin_ + (side_ == Side::weights ? row / 128 * cols_ + col / 128 : col / 128 * cols_ + row));
      default:
        return scales_.at(begin_ + row);
    }
  }

  const HostTensor& scales_;
  Scaling scaling_;
  Side side_;
  std::int64_t cols_, begin_;
};

}  // namespace

std::vector<float> scaled_rows(const HostTensor& values, const HostTensor* scales, Scaling scaling, Side side,
                               std::int64_t batch, std::int64_t rows, std::int64_t k) {
  std::vector<float> result = to_floats(values, batch * rows * k, rows * k);
  if (scaling == Scaling::none) return result;
  const Scales of(*scales, scaling, side, batch, rows, k);
  tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, rows, 16), [&](const tbb::blocked_range<std::int64_t>& range) {
    for (std::int64_t row = range.begin(); row < range.end(); ++row)
      of.apply(row, std::span(result).subspan(static_cast<std::size_t>(row * k), static_cast<std::size_t>(k)));
  });
  return result;
}

std::vector<float> chosen_rows(const HostTensor& values, const HostTensor* scales, Scaling scaling, Side side,
                               std::int64_t batch, std::int64_t rows, std::int64_t k,
                               std::span<const std::int64_t> chosen) {
  const auto cols = static_cast<std::size_t>(k);
  std::vector<float> result(chosen.size() * cols);
  tbb::parallel_for(std::size_t{0}, chosen.size(), [&](std::size_t i) {
    const std::span<float> row = std::span(result).subspan(i * cols, cols);
    const std::int64_t begin = (batch * rows + chosen[i]) * k;
    for (std::size_t col = 0; col < cols; ++col)
      row[col] = static_cast<float>(values.at(begin + static_cast<std::int64_t>(col)));
    if (scaling != Scaling::none) Scales(*scales, scaling, side, batch, rows, k).apply(chosen[i], row);
  });
  return result;
}

}  // namespace wavetune::templates
