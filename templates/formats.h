// The narrow number formats of OCP's Microscaling (MX) specification 1.0 and of FP8 checkpoints, in plain C++: the
// definition that kernels and golden vectors are held to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace wavetune::templates {

inline constexpr float fp8_largest = 448.0f;
inline constexpr float fp4_largest = 6.0f;
inline constexpr std::uint8_t fp8_nan = 0x7F;   ///< and 0xFF; e4m3fn has no infinities
inline constexpr std::uint8_t e8m0_nan = 0xFF;  ///< e8m0 has neither zero nor sign
inline constexpr std::size_t mx_block = 32;     ///< elements that share an e8m0 scale
/// Elements of one activation group, and edge of a weight block, in block-wise FP8 (DeepSeek's scheme, which GLM's FP8
/// checkpoints follow).
inline constexpr std::size_t fp8_group = 128;
/// Groups with smaller magnitudes are scaled as if this were their largest: 1 / scale stays finite. The value is
/// sglang's and vLLM's (per_token_group_quant_8bit).
inline constexpr float fp8_smallest_amax = 1e-10f;

/// e4m3fn, rounded to nearest even. Magnitudes above 448, infinity too, become 448; NaN becomes 0x7F with the sign.
std::uint8_t fp8_from_float(float value);
float float_from_fp8(std::uint8_t code);

/// e2m1 in the low four bits, rounded to nearest even. Magnitudes above 6 become 6, NaN too: the format has none. Zeros
/// keep their sign.
std::uint8_t fp4_from_float(float value);
/// The low four bits count.
float float_from_fp4(std::uint8_t code);

/// e8m0: 2^(code - 127), 0xFF is NaN. Rounds towards zero to a power of two; zero, negative numbers and those below
/// 2^-127 become 2^-127; infinity becomes the largest, 2^127.
std::uint8_t e8m0_from_float(float value);
float float_from_e8m0(std::uint8_t code);

/// Nibbles of packed fp4: element i is in byte i / 2, in the low nibble when i is even.
std::uint8_t fp4_code(std::span<const std::uint8_t> packed, std::size_t index);
void set_fp4_code(std::span<std::uint8_t> packed, std::size_t index, std::uint8_t code);

/// The shared scale of an MX block of e2m1 whose largest magnitude is `amax`, as AMD Quark's scale_calculation_mode
/// "even" makes it (quark.torch.quantization.utils.even_round): amax is rounded to the next power of two when its
/// mantissa is 1.75 or more, to the one below otherwise, and the scale is a quarter of that (the largest exponent of
/// e2m1 is 2), at least 2^-127. So magnitudes between 6 and 7 times the scale saturate. As in Quark, what rounds to
/// 2^128 and infinity get 2^127. NaN gets 0xFF, as OCP has it (Quark's export makes 2^0 of it).
std::uint8_t mx_scale_even(float amax);

/// One MX block: up to 32 values (the rest of the block counts as zeros and is not written) to codes and a scale.
/// `packed` has half as many bytes as `values` has elements, which is an even number. A NaN makes the scale NaN.
std::uint8_t quantize_mxfp4(std::span<const float> values, std::span<std::uint8_t> packed);

/// Values sharing one float32 scale (a 1x128 group of activations, a token's row): codes of value * (1 / scale) with
/// scale = amax / 448 in float32 arithmetic. Returns the scale.
float quantize_fp8(std::span<const float> values, std::span<std::uint8_t> codes);

/// Weights [rows, cols] in blocks of 128x128, the last ones smaller: codes [rows, cols], scales [ceil(rows / 128),
/// ceil(cols / 128)].
void quantize_fp8_blocks(std::span<const float> values, std::size_t rows, std::size_t cols,
                         std::span<std::uint8_t> codes, std::span<float> scales);

}  // namespace wavetune::templates
