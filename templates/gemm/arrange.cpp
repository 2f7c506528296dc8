#include "templates/gemm/arrange.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstring>

#include "db/base/error.h"

namespace wavetune::templates {
namespace {

std::int64_t padded(std::int64_t value, std::int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

void check_sizes(std::size_t from, std::size_t expected_from, std::size_t to, std::size_t expected_to) {
  if (from == expected_from && to == expected_to) return;
  fail(ErrorKind::internal, "shuffling {} bytes into {}: expected {} and {}", from, to, expected_from, expected_to);
}

}  // namespace

std::size_t shuffled_weight_bytes(std::int64_t n, std::int64_t k_bytes) {
  return static_cast<std::size_t>(padded(n, shuffle_rows) * k_bytes);
}

void shuffle_weights(std::span<const std::byte> rows, std::int64_t n, std::int64_t k_bytes,
                     std::span<std::byte> shuffled) {
  if (k_bytes % shuffle_bytes != 0) {
    fail(ErrorKind::usage, "rows of {} bytes cannot be shuffled: not a multiple of {}", k_bytes, shuffle_bytes);
  }
  check_sizes(rows.size(), static_cast<std::size_t>(n * k_bytes), shuffled.size(), shuffled_weight_bytes(n, k_bytes));
  if (n % shuffle_rows != 0) std::ranges::fill(shuffled, std::byte{0});
  const auto shuffle_row = [&](std::int64_t row) {
    const std::byte* from = rows.data() + row * k_bytes;
    std::byte* to = shuffled.data() + row / shuffle_rows * shuffle_rows * k_bytes + row % shuffle_rows * shuffle_bytes;
    for (std::int64_t k = 0; k < k_bytes; k += shuffle_bytes) {
      std::memcpy(to + k * shuffle_rows, from + k, static_cast<std::size_t>(shuffle_bytes));
    }
  };
  // Weights of experts are gigabytes.
  tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, n, 4 * shuffle_rows),
                    [&](const tbb::blocked_range<std::int64_t>& range) {
                      for (std::int64_t row = range.begin(); row < range.end(); ++row) shuffle_row(row);
                    });
}

std::size_t shuffled_scale_bytes(std::int64_t rows, std::int64_t cols) {
  return static_cast<std::size_t>(padded(rows, scale_unit_rows) * padded(cols, scale_unit_cols));
}

void shuffle_scales(std::span<const std::byte> scales, std::int64_t rows, std::int64_t cols,
                    std::span<std::byte> shuffled) {
  check_sizes(scales.size(), static_cast<std::size_t>(rows * cols), shuffled.size(), shuffled_scale_bytes(rows, cols));
  std::ranges::fill(shuffled, std::byte{0});
  const std::int64_t units = padded(cols, scale_unit_cols) / scale_unit_cols;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t col = 0; col < cols; ++col) {
      const std::int64_t unit = row / scale_unit_rows * units + col / scale_unit_cols;
      const std::int64_t word = col % 4 * 16 + row % 16;
      const std::int64_t byte = col % scale_unit_cols / 4 * 2 + row % scale_unit_rows / 16;
      shuffled[static_cast<std::size_t>(unit * scale_unit_rows * scale_unit_cols + word * 4 + byte)] =
          scales[static_cast<std::size_t>(row * cols + col)];
    }
  }
}

}  // namespace wavetune::templates
