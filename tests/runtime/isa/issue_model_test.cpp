#include "runtime/isa/issue_model.h"

#include <gtest/gtest.h>

#include "db/base/error.h"
#include "tests/runtime/isa/kernel_text.h"

namespace wavetune::isa {
namespace {

constexpr const char* bf16 = "v_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[8:11], v[0:3]\n";        // 16 cycles
constexpr const char* large = "v_mfma_f32_32x32x16_bf16 v[0:15], v[16:19], v[20:23], v[0:15]\n";  // 32 cycles
constexpr const char* fp8 = "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], v[0:3]\n";    // 32
constexpr const char* fp4 = "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:7], v[12:15], v[0:3] cbsz:4 blgp:4\n";  // 16
constexpr const char* valu = "v_add_f32 v0, v1, v2\n";
constexpr const char* salu = "s_add_u32 s0, s1, s2\n";
constexpr const char* lds = "ds_read_b128 v[0:3], v4\n";
constexpr const char* exponent = "v_exp_f32 v0, v1\n";

struct Case {
  const char* arch;
  std::vector<const char*> body;
  int matrix;
  int other;
  double overlapped;  ///< worked out by hand from the rules in issue_model.h
};

TEST(IssueModel, SmallLoopsByHand) {
  const Case cases[] = {
      // The matrix core is the limit.
      {"gfx950", {bf16}, 16, 0, 16},
      {"gfx950", {bf16, salu, salu, salu}, 16, 12, 16},  // 0 M, 4, 8, 12, next at 16
      {"gfx950", {bf16, lds, lds, salu}, 16, 12, 16},
      {"gfx950", {bf16, salu, salu, salu, salu}, 16, 16, 20},  // one too many
      {"gfx950", {large, lds, lds, lds, lds, lds, lds, lds}, 32, 28, 32},
      // VALU waits for two passes: 0 M, 8 V, 12 V, 16 M.
      {"gfx950", {bf16, valu, valu}, 16, 8, 16},
      {"gfx950", {bf16, valu, valu, valu}, 16, 12, 20},
      {"gfx950", {bf16, salu, valu, valu}, 16, 12, 16},  // the scalar one fills the shadow
      {"gfx950", {bf16, valu, salu, valu}, 16, 12, 20},  // 8 V, 12 S, 16 V, 20
      {"gfx950", {bf16, bf16, valu}, 32, 4, 32},         // 0 M, 16 M, 24 V, 28, next at 32
      {"gfx950", {valu, bf16, bf16}, 32, 4, 32},
      {"gfx950", {bf16, bf16, valu, valu, valu}, 32, 12, 36},  // 16 M, 24, 28, 32, 36
      // s_nop N waits N + 1 times.
      {"gfx950", {bf16, "s_nop 2\n"}, 16, 12, 16},
      {"gfx950", {bf16, "s_nop 4\n"}, 16, 20, 24},
      // Transcendental functions: 8 cycles on CDNA4, 16 on CDNA3.
      {"gfx950", {bf16, exponent}, 16, 8, 16},
      {"gfx942", {"v_mfma_f32_16x16x16_bf16 v[0:3], v[4:5], v[8:9], v[0:3]\n", exponent}, 16, 16, 24},
      // Formats.
      {"gfx950", {fp8, lds, lds, lds, lds}, 32, 16, 32},
      {"gfx950", {fp4, lds, lds, lds, lds}, 16, 16, 20},
      // Without MFMA.
      {"gfx950", {valu, salu, "s_waitcnt vmcnt(0)\n", "s_barrier\n"}, 0, 16, 16},
      {"gfx950", {"v_mul_lo_u32 v0, v1, v2\n"}, 0, 16, 16},
  };
  for (const Case& c : cases) {
    std::string text;
    for (const char* line : c.body) text += line;
    const IssueCycles cycles = model_issue(test::kernel_of(text), c.arch);
    EXPECT_EQ(cycles.matrix, c.matrix) << text;
    EXPECT_EQ(cycles.other, c.other) << text;
    EXPECT_DOUBLE_EQ(cycles.overlapped, c.overlapped) << text;
  }
}

TEST(IssueModel, Shares) {
  const IssueCycles cycles = model_issue(test::kernel_of(std::string(bf16) + salu + salu + salu + salu), "gfx950");
  EXPECT_DOUBLE_EQ(cycles.serial_share(), 0.5);
  EXPECT_DOUBLE_EQ(cycles.overlapped_share(), 0.8);
  EXPECT_DOUBLE_EQ(model_issue(test::kernel_of(valu), "gfx950").overlapped_share(), 0.0);
  EXPECT_DOUBLE_EQ(model_issue({}, "gfx950").serial_share(), 0.0);
}

TEST(IssueModel, NamesTheInstructionThatItDoesNotKnow) {
  try {
    (void)model_issue(test::kernel_of("v_mfma_f32_64x64x8_bf16 v[0:3], v4, v5, v[0:3]"), "gfx950");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::incompatible);
    EXPECT_NE(std::string(error.what()).find("v_mfma_f32_64x64x8_bf16"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace wavetune::isa
