// Weights and scales in the order in which the matrix kernels read them; done once, at load.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace wavetune::templates {

/// Rows of weights that lie together, and bytes of a row that one lane loads.
inline constexpr std::int64_t shuffle_rows = 16, shuffle_bytes = 16;
/// Rows and columns (blocks of 32 along k) of one unit of shuffled scales.
inline constexpr std::int64_t scale_unit_rows = 32, scale_unit_cols = 8;

/// Bytes of shuffled weights [n, k_bytes]: n is padded to a multiple of 16.
std::size_t shuffled_weight_bytes(std::int64_t n, std::int64_t k_bytes);

/// Row-major weights [n, k_bytes] (k_bytes: bytes of a row, a multiple of 16: 8 bf16, 16 fp8 or 32 fp4) to
/// [n / 16][k_bytes / 16][16 rows][16 bytes], which for n a multiple of 16 is aiter's shuffle_weight with layout (16,
/// 16). A wave that loads 16 rows in chunks of 16 bytes then reads contiguous memory. Rows beyond n are zeros. Throws
/// Error usage for other k_bytes, internal when a span has not the size said.
void shuffle_weights(std::span<const std::byte> rows, std::int64_t n, std::int64_t k_bytes,
                     std::span<std::byte> shuffled);

/// Bytes of shuffled e8m0 scales [rows, cols]: padded to multiples of 32 and 8.
std::size_t shuffled_scale_bytes(std::int64_t rows, std::int64_t cols);

/// Row-major e8m0 scales [rows, cols] to units of 32 rows x 8 columns, [rows / 32][cols / 8][4][16][2][2]: the four
/// bytes of word c * 16 + r of a unit belong to columns c and c + 4 and rows r and r + 16, the row changing faster. So
/// one word holds all scales that lane c * 16 + r needs for two instructions of 16x16x128 along M and two along K,
/// picked by their selectors. aiter's shuffle_scale, which pads rows to 256. Padding is zero (2^-127; it multiplies
/// zeros).
void shuffle_scales(std::span<const std::byte> scales, std::int64_t rows, std::int64_t cols,
                    std::span<std::byte> shuffled);

}  // namespace wavetune::templates
