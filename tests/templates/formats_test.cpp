// Number formats against golden vectors, bit by bit, and what the vectors cannot hold: NaN, and tensors of narrow
// types.
#include "templates/formats.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "db/base/error.h"
#include "golden_tensors.h"
#include "templates/gemm/arrange.h"
#include "templates/host_tensor.h"

namespace wavetune::templates::test {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

class Formats : public testing::Test {
 protected:
  FormatVectors golden;
};

TEST_F(Formats, EveryCodeHasThePublishedValue) {
  struct Case {
    const char* name;
    float (*decode)(std::uint8_t);
    std::size_t codes;
  };
  const Case cases[] = {{"fp8", float_from_fp8, 256}, {"fp4", float_from_fp4, 16}, {"e8m0", float_from_e8m0, 256}};
  for (const Case& c : cases) {
    const auto values = golden.get<float>(std::string(c.name) + ".decoded");
    ASSERT_EQ(values.size(), c.codes);
    for (std::size_t i = 0; i < c.codes; ++i) {
      const float value = c.decode(static_cast<std::uint8_t>(i));
      if (std::isnan(values[i])) {
        EXPECT_TRUE(std::isnan(value)) << c.name << " " << i;
      } else {
        EXPECT_EQ(std::bit_cast<std::uint32_t>(value), std::bit_cast<std::uint32_t>(values[i])) << c.name << " " << i;
      }
    }
  }
}

TEST_F(Formats, EveryCodeSurvivesARoundTrip) {
  for (unsigned i = 0; i < 256; ++i) {
    const auto code = static_cast<std::uint8_t>(i);
    EXPECT_EQ(fp8_from_float(float_from_fp8(code)), (i & 0x7F) == fp8_nan ? fp8_nan : code) << i;
    EXPECT_EQ(e8m0_from_float(float_from_e8m0(code)), code);
    EXPECT_EQ(fp4_from_float(float_from_fp4(code)), code & 0xF);
  }
}

TEST_F(Formats, RoundingAgreesWithPyTorchAndMlDtypes) {
  const auto fp8_input = golden.get<float>("fp8.input"), fp4_input = golden.get<float>("fp4.input");
  const auto fp8_codes = golden.get<std::uint8_t>("fp8.codes"), fp4_codes = golden.get<std::uint8_t>("fp4.codes");
  ASSERT_GT(fp8_input.size(), 1000u);
  ASSERT_GT(fp4_input.size(), 500u);
  for (std::size_t i = 0; i < fp8_input.size(); ++i) {
    ASSERT_EQ(fp8_from_float(fp8_input[i]), fp8_codes[i]) << fp8_input[i];
  }
  for (std::size_t i = 0; i < fp4_input.size(); ++i) {
    ASSERT_EQ(fp4_from_float(fp4_input[i]), fp4_codes[i]) << fp4_input[i];
  }
}

TEST_F(Formats, NumbersThatAFormatHasNot) {
  EXPECT_EQ(fp8_from_float(nan) & 0x7F, 0x7F);
  EXPECT_EQ(fp8_from_float(infinity), 0x7E);
  EXPECT_EQ(fp8_from_float(-infinity), 0xFE);
  EXPECT_EQ(fp8_from_float(1e9f), 0x7E);
  EXPECT_EQ(fp4_from_float(infinity), 7);
  EXPECT_EQ(fp4_from_float(-infinity), 15);
  EXPECT_EQ(fp4_from_float(nan) & 7, 7);
  EXPECT_EQ(e8m0_from_float(nan), 0xFF);
  EXPECT_EQ(e8m0_from_float(infinity), 254);
  EXPECT_EQ(e8m0_from_float(0.0f), 0);
  EXPECT_EQ(e8m0_from_float(-1.0f), 0);
  EXPECT_EQ(e8m0_from_float(3.0f), 128);
  EXPECT_EQ(mx_scale_even(nan), 0xFF);
}

TEST_F(Formats, SharedScaleIsQuarksEvenMode) {
  const auto amax = golden.get<float>("even.amax");
  const auto scales = golden.get<std::uint8_t>("even.scales");
  ASSERT_EQ(amax.size(), 5u + 4u * 254u);
  for (std::size_t i = 0; i < amax.size(); ++i) ASSERT_EQ(mx_scale_even(amax[i]), scales[i]) << amax[i];
}

TEST_F(Formats, Mxfp4BlocksAreQuarks) {
  const auto input = golden.get<float>("mxfp4.input");
  const auto scales = golden.get<std::uint8_t>("mxfp4.scales"), packed = golden.get<std::uint8_t>("mxfp4.packed");
  const auto exported = golden.get<std::uint8_t>("mxfp4.exported_scales");
  ASSERT_GT(scales.size(), 100u);
  for (std::size_t block = 0; block < scales.size(); ++block) {
    std::vector<std::uint8_t> codes(mx_block / 2);
    EXPECT_EQ(quantize_mxfp4(std::span(input).subspan(block * mx_block, mx_block), codes), scales[block]) << block;
    // Quark's export writes no code 0: blocks of zeros get 1, which changes nothing.
    EXPECT_EQ(std::max<int>(scales[block], 1), exported[block]) << block;
    for (std::size_t i = 0; i < mx_block; ++i) {
      // Quark drops the sign of what rounds to zero; here it stays, as it does in the hardware's conversion.
      const std::uint8_t code = fp4_code(codes, i);
      EXPECT_EQ(code == 8 ? 0 : code, fp4_code(std::span(packed).subspan(block * mx_block / 2), i))
          << "block " << block << " element " << i << ": " << input[block * mx_block + i];
    }
  }
}

TEST_F(Formats, Mxfp4PartialBlocksAndNotANumber) {
  std::vector<float> values = {1.0f, -6.0f, 0.5f, 0.3f};
  std::vector<std::uint8_t> packed(2);
  EXPECT_EQ(quantize_mxfp4(values, packed), 127);
  EXPECT_EQ(packed, (std::vector<std::uint8_t>{0xF2, 0x11}));
  values[2] = nan;
  EXPECT_EQ(quantize_mxfp4(values, packed), 0xFF);
  EXPECT_THROW(quantize_mxfp4(values, std::span(packed).first(1)), Error);
}

TEST_F(Formats, Fp8GroupsAndBlocks) {
  const auto x = golden.get<float>("fp8_group.input"), x_scales = golden.get<float>("fp8_group.scales");
  const auto x_codes = golden.get<std::uint8_t>("fp8_group.codes");
  std::vector<std::uint8_t> codes(x.size());
  for (std::size_t group = 0; group < x_scales.size(); ++group) {
    const auto part = std::span(codes).subspan(group * fp8_group, fp8_group);
    EXPECT_EQ(quantize_fp8(std::span(x).subspan(group * fp8_group, fp8_group), part), x_scales[group]) << group;
  }
  EXPECT_EQ(codes, x_codes);

  const auto w = golden.get<float>("fp8_block.input");
  std::vector<float> scales(4);
  codes.assign(w.size(), 0xAA);
  quantize_fp8_blocks(w, 130, 150, codes, scales);
  EXPECT_EQ(scales, golden.get<float>("fp8_block.scales"));
  EXPECT_EQ(codes, golden.get<std::uint8_t>("fp8_block.codes"));
}

TEST_F(Formats, TensorsHoldThem) {
  HostTensor fp8(DType::fp8, 3), fp4(DType::fp4, 4), e8m0(DType::e8m0, 2);
  EXPECT_EQ(fp8.bytes().size(), 3u);
  EXPECT_EQ(fp4.bytes().size(), 2u);
  EXPECT_EQ(e8m0.bytes().size(), 2u);
  for (int i = 0; i < 4; ++i) fp4.set(i, 1.0 + i);  // 5 lies between 4 and 6, and 4 is even
  fp4.set(1, -0.5);
  EXPECT_EQ(fp4.as<std::uint8_t>()[0], 0x92);
  EXPECT_EQ(fp4.at(0), 1.0);
  EXPECT_EQ(fp4.at(1), -0.5);
  EXPECT_EQ(fp4.at(2), 3.0);
  EXPECT_EQ(fp4.at(3), 4.0);
  fp8.set(2, -1e4);
  EXPECT_EQ(fp8.at(2), -448.0);
  e8m0.set(1, 0.25);
  EXPECT_EQ(e8m0.at(1), 0.25);
  EXPECT_THROW(HostTensor(DType::fp4, 3), Error);
  EXPECT_THROW(size_of(DType::fp4), Error);
  EXPECT_EQ(bytes_for(DType::fp4, 6), 3u);
  for (const char* name : {"fp8", "fp4", "e8m0"}) EXPECT_EQ(to_string(dtype_from_string(name).value()), name);
}

std::vector<std::byte> as_bytes_of(const std::vector<std::uint8_t>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

TEST_F(Formats, ShuffledWeightsAreAiters) {
  const auto rows = as_bytes_of(golden.get<std::uint8_t>("weights.rows"));
  std::vector<std::byte> shuffled(shuffled_weight_bytes(48, 96));
  shuffle_weights(rows, 48, 96, shuffled);
  EXPECT_EQ(shuffled, as_bytes_of(golden.get<std::uint8_t>("weights.shuffled")));

  // 35 rows: 13 rows of zeros at the end.
  const std::span<const std::byte> part = std::span(rows).first(35 * 96);
  std::vector<std::byte> padded(shuffled_weight_bytes(35, 96), std::byte{0xAA});
  ASSERT_EQ(padded.size(), 48u * 96u);
  shuffle_weights(part, 35, 96, padded);
  for (std::size_t at = 0; at < padded.size(); ++at) {
    const std::size_t row = at / (16 * 96) * 16 + at / 16 % 16;
    EXPECT_EQ(padded[at], row < 35 ? shuffled[at] : std::byte{0}) << at;
  }
  EXPECT_THROW(shuffle_weights(part, 35 * 4, 24, padded), Error);
  EXPECT_THROW(shuffle_weights(part, 34, 96, padded), Error);
}

TEST_F(Formats, ShuffledScalesAreAiters) {
  const auto rows = as_bytes_of(golden.get<std::uint8_t>("scales.rows"));
  std::vector<std::byte> shuffled(shuffled_scale_bytes(64, 16));
  shuffle_scales(rows, 64, 16, shuffled);
  EXPECT_EQ(shuffled, as_bytes_of(golden.get<std::uint8_t>("scales.shuffled")));

  std::vector<std::byte> ragged;
  for (std::size_t row = 0; row < 33; ++row) ragged.insert(ragged.end(), &rows[row * 16], &rows[row * 16] + 11);
  std::vector<std::byte> padded(shuffled_scale_bytes(33, 11), std::byte{0xAA});
  ASSERT_EQ(padded.size(), 64u * 16u);
  shuffle_scales(ragged, 33, 11, padded);
  for (std::size_t at = 0; at < padded.size(); ++at) {
    const std::size_t unit = at / 256, word = at % 256 / 4, byte = at % 4;
    const std::size_t row = unit / 2 * 32 + byte % 2 * 16 + word % 16, col = unit % 2 * 8 + byte / 2 * 4 + word / 16;
    EXPECT_EQ(padded[at], row < 33 && col < 11 ? shuffled[at] : std::byte{0}) << at;
  }
}

TEST(Half, EveryCodeComesBackAndHalfWaysRoundToEven) {
  EXPECT_EQ(float_from_f16(0x3C00), 1.0f);
  EXPECT_EQ(float_from_f16(0xC580), -5.5f);
  EXPECT_EQ(float_from_f16(0x0001), 0x1p-24f);
  EXPECT_EQ(float_from_f16(0x7BFF), 65504.0f);
  EXPECT_EQ(float_from_f16(0xFC00), -infinity);
  EXPECT_TRUE(std::isnan(float_from_f16(0x7E01)));
  for (unsigned code = 0; code < 0x7C00; ++code) {
    const float value = float_from_f16(static_cast<std::uint16_t>(code));
    EXPECT_EQ(f16_from_float(value), code);
    EXPECT_EQ(f16_from_float(-value), code | 0x8000u);
    // The largest finite code is followed by infinity, from 65520 on.
    const float above = code == 0x7BFF ? 65536.0f : float_from_f16(static_cast<std::uint16_t>(code + 1));
    const float middle = (value + above) / 2;
    EXPECT_EQ(f16_from_float(middle), code + code % 2) << code;
    EXPECT_EQ(f16_from_float(std::nextafter(middle, 0.0f)), code) << code;
    EXPECT_EQ(f16_from_float(std::nextafter(middle, infinity)), code + 1) << code;
  }
  EXPECT_EQ(f16_from_float(1e30f), 0x7C00);
  EXPECT_EQ(f16_from_float(-infinity), 0xFC00);
  EXPECT_TRUE(std::isnan(float_from_f16(f16_from_float(nan))));
}

TEST(HostTensor, KeepsNumbersOfEveryType) {
  for (const DType type : {DType::f32, DType::bf16, DType::f16, DType::i32, DType::i64, DType::u8, DType::f64,
                           DType::i8, DType::i16, DType::u16, DType::u32, DType::u64}) {
    HostTensor tensor(type, 2);
    tensor.set(1, 113);
    EXPECT_EQ(tensor.at(1), 113) << to_string(type);
    EXPECT_EQ(tensor.at(0), 0) << to_string(type);
    EXPECT_EQ(dtype_from_string(to_string(type)), type);
  }
}

}  // namespace
}  // namespace wavetune::templates::test
