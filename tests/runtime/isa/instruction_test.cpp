#include "runtime/isa/instruction.h"

#include <gtest/gtest.h>

#include "runtime/isa/matrix_instruction.h"

namespace wavetune::isa {
namespace {

struct Line {
  const char* text;
  Kind kind;
  int bytes;  ///< of one lane, for memory instructions
};

TEST(Instruction, KindsAndBytes) {
  const Line lines[] = {
      {"v_mfma_f32_16x16x32_bf16 a[0:3], v[0:3], v[4:7], a[0:3]", Kind::mfma, 0},
      {"v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], a[0:3], v[4:7], v[0:3], v8, v9 op_sel_hi:[0,0,0] cbsz:4 blgp:4",
       Kind::mfma, 0},
      {"ds_read_b128 v[28:31], v0 offset:16", Kind::lds, 16},
      {"ds_read2_b64 v[58:61], v4 offset1:8", Kind::lds, 16},
      {"ds_read2st64_b32 v[0:1], v4 offset1:8", Kind::lds, 8},
      {"ds_read_b64_tr_b16 v[0:1], v4", Kind::lds, 8},
      {"ds_read_u8 v0, v2 offset:260", Kind::lds, 1},
      {"ds_write_b8 v62, v66 offset:6144", Kind::lds, 1},
      {"global_load_dwordx4 v[0:3], v[4:5], off", Kind::global_load, 16},
      {"global_load_lds_dwordx4 v[0:1], off offset:16", Kind::global_to_lds, 16},
      {"buffer_load_dwordx4 v2, s[8:11], 0 offen lds", Kind::global_to_lds, 16},
      {"buffer_load_dwordx4 v[0:3], v2, s[8:11], 0 offen", Kind::global_load, 16},
      {"buffer_load_ubyte v9, v2, s[28:31], 0 offen", Kind::global_load, 1},
      {"global_load_short_d16_hi v9, v[2:3], off", Kind::global_load, 2},
      {"global_load_dwordx3 v[0:2], v[4:5], off", Kind::global_load, 12},
      {"flat_load_dword v0, v[2:3]", Kind::global_load, 4},
      {"global_store_dwordx2 v[0:1], v[2:3], off", Kind::global_store, 8},
      {"buffer_store_short v0, v1, s[0:3], 0 offen", Kind::global_store, 2},
      {"global_atomic_add_f32 v[0:1], v2, off", Kind::global_store, 4},
      {"buffer_inv sc1", Kind::wait, 0},
      {"scratch_store_dwordx4 off, v[0:3], off offset:80", Kind::scratch, 16},
      {"v_add_f32_e32 v0, v1, v2", Kind::valu, 0},
      {"v_accvgpr_read_b32 v0, a1", Kind::valu, 0},
      {"s_add_u32 s0, s1, s2", Kind::salu, 0},
      {"s_load_dwordx4 s[0:3], s[4:5], 0x10", Kind::smem, 0},
      {"s_waitcnt vmcnt(0) lgkmcnt(1)", Kind::wait, 0},
      {"s_barrier", Kind::wait, 0},
      {"s_nop 3", Kind::wait, 0},
      {"s_cbranch_scc1 976", Kind::branch, 0},
      {"s_branch 65000", Kind::branch, 0},
      {"s_endpgm", Kind::branch, 0},
      {"s_setprio 1", Kind::other, 0},
  };
  for (const Line& line : lines) {
    const Instruction instruction = parse_instruction(0, 8, line.text);
    EXPECT_EQ(to_string(instruction.kind), to_string(line.kind)) << line.text;
    if (line.bytes > 0) {
      EXPECT_EQ(bytes_per_lane(instruction), line.bytes) << line.text;
    }
  }
}

TEST(Instruction, TakesALineApart) {
  const Instruction add = parse_instruction(0x100, 4, "\tv_add_f32_e32 v0, v1, v2");
  EXPECT_EQ(add.mnemonic, "v_add_f32");
  EXPECT_EQ(add.operands, "v0, v1, v2");
  EXPECT_FALSE(add.target.has_value());
  const Instruction scaled =
      parse_instruction(0, 16, "v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:15], v[0:3], v1, v2 blgp:4");
  EXPECT_EQ(scaled.modifier("blgp"), 4);
  EXPECT_EQ(scaled.modifier("cbsz"), 0);
  EXPECT_EQ(parse_instruction(0, 4, "s_barrier").text(), "s_barrier");
}

TEST(Instruction, BranchTargetsAreRelativeToTheNextInstruction) {
  EXPECT_EQ(parse_instruction(0x1000, 4, "s_cbranch_scc1 3").target, 0x1010u);
  EXPECT_EQ(parse_instruction(0x1000, 4, "s_branch 65535").target, 0x1000u);
  EXPECT_EQ(parse_instruction(0x1000, 4, "s_cbranch_vccnz 65534").target, 0xffcu);
  EXPECT_FALSE(parse_instruction(0x1000, 4, "s_setpc_b64 s[0:1]").target.has_value());
  EXPECT_TRUE(falls_through(parse_instruction(0, 4, "s_cbranch_scc1 3")));
  EXPECT_FALSE(falls_through(parse_instruction(0, 4, "s_branch 3")));
  EXPECT_FALSE(falls_through(parse_instruction(0, 4, "s_endpgm")));
}

struct Matrix {
  double flops;
  int gfx942;  ///< cycles; 0: not asked
  int gfx950;
};

// Passes as llvm-mca 22 prints them, and AMD's figures for f8f6f4.
TEST(MatrixInstruction, FlopsAndCycles) {
  const std::string f8 = "v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], v[0:3], v1, v2";
  const std::string f8_large = "v_mfma_f32_32x32x64_f8f6f4 v[0:15], v[16:23], v[24:31], v[0:15]";
  const std::pair<std::string, Matrix> cases[] = {
      {"v_mfma_f32_16x16x32_bf16", {16384, 0, 16}},
      {"v_mfma_f32_32x32x16_f16", {32768, 0, 32}},
      {"v_mfma_f32_16x16x16_bf16", {8192, 16, 16}},
      {"v_mfma_f32_32x32x8_bf16", {16384, 32, 32}},
      {"v_mfma_f32_16x16x32_fp8_fp8", {16384, 16, 16}},
      {"v_mfma_f32_32x32x16_bf8_fp8", {32768, 32, 32}},
      {"v_mfma_i32_16x16x64_i8", {32768, 0, 16}},
      {"v_mfma_f32_16x16x4_f32", {2048, 32, 32}},
      {"v_mfma_f32_32x32x2_f32", {4096, 64, 64}},
      {"v_mfma_f32_16x16x8_xf32", {4096, 16, 0}},
      {"v_mfma_f64_16x16x4_f64", {2048, 32, 64}},
      {"v_mfma_f64_4x4x4_4b_f64", {512, 16, 16}},
      {"v_mfma_f32_4x4x4_16b_f16", {2048, 8, 8}},
      {"v_mfma_f32_16x16x4_4b_f16", {8192, 32, 32}},
      {"v_mfma_f32_32x32x4_2b_f16", {16384, 64, 64}},
      {"v_mfma_f32_32x32x1_2b_f32", {4096, 64, 64}},
      {f8, {65536, 0, 32}},                     // e4m3 x e4m3
      {f8 + " cbsz:4 blgp:4", {65536, 0, 16}},  // fp4 x fp4
      {f8 + " cbsz:2 blgp:3", {65536, 0, 16}},  // fp6 x fp6
      {f8 + " blgp:4", {65536, 0, 32}},         // e4m3 x fp4
      {f8 + " cbsz:4 blgp:1", {65536, 0, 32}},  // fp4 x e5m2
      {f8_large, {131072, 0, 64}},
      {f8_large + " cbsz:4 blgp:4", {131072, 0, 32}},
  };
  for (const auto& [text, expected] : cases) {
    const Instruction instruction = parse_instruction(0, 8, text);
    ASSERT_TRUE(matrix_shape(instruction).has_value()) << text;
    EXPECT_EQ(matrix_shape(instruction)->flops(), expected.flops) << text;
    for (const auto& [arch, cycles] : {std::pair("gfx942", expected.gfx942), std::pair("gfx950", expected.gfx950)}) {
      if (cycles > 0) {
        EXPECT_EQ(matrix_cycles(instruction, arch), cycles) << text << " on " << arch;
      }
    }
  }
}

TEST(MatrixInstruction, OthersHaveNone) {
  EXPECT_FALSE(matrix_shape(parse_instruction(0, 4, "v_add_f32_e32 v0, v1, v2")).has_value());
  EXPECT_FALSE(matrix_shape(parse_instruction(0, 8, "v_mfma_f32_new_form v0, v1, v2")).has_value());
  EXPECT_FALSE(matrix_cycles(parse_instruction(0, 8, "v_mfma_f32_16x16x32_bf16 v0, v1"), "gfx1201").has_value());
  EXPECT_FALSE(matrix_cycles(parse_instruction(0, 8, "v_mfma_f32_64x64x8_bf16 v0, v1"), "gfx950").has_value());
}

}  // namespace
}  // namespace wavetune::isa
