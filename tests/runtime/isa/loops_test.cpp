#include "runtime/isa/loops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/isa/kernel_report.h"
#include "tests/runtime/isa/kernel_text.h"

namespace wavetune::isa {
namespace {

using test::kernel_of;
using testing::ElementsAre;

TEST(Loops, StraightCodeHasNone) {
  const auto kernel = kernel_of("v_add_f32 v0, v1, v2\n s_endpgm");
  EXPECT_TRUE(find_loops(kernel).empty());
  EXPECT_TRUE(find_loops({}).empty());
  EXPECT_EQ(hottest_loop(kernel, {}), nullptr);
}

TEST(Loops, OneBlockThatBranchesToItself) {
  const auto kernel = kernel_of(R"(
    s_mov_b32 s0, 4
    loop:
    v_add_f32 v0, v1, v2
    s_sub_u32 s0, s0, 1
    s_cbranch_scc1 loop
    s_endpgm)");
  const auto loops = find_loops(kernel);
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_THAT(loops[0].body, ElementsAre(1, 2, 3));
  EXPECT_EQ(loops[0].depth, 1);
}

TEST(Loops, NestedWithAnExitInTheMiddle) {
  const auto kernel = kernel_of(R"(
    outer:
    s_mov_b32 s0, 4
    inner:
    v_add_f32 v0, v1, v2
    s_cbranch_vccz leave
    s_sub_u32 s0, s0, 1
    s_cbranch_scc1 inner
    v_mul_f32 v0, v0, v0
    s_cbranch_scc0 outer
    leave:
    s_endpgm)");
  const auto loops = find_loops(kernel);
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_THAT(loops[0].body, ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(loops[0].own, ElementsAre(0, 5, 6));
  EXPECT_EQ(loops[0].depth, 1);
  EXPECT_THAT(loops[1].body, ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(loops[1].depth, 2);
  EXPECT_EQ(hottest_loop(kernel, loops), &loops[1]);  // no MFMA: the deepest
}

TEST(Loops, TwoBranchesToOneHeaderAreOneLoop) {
  const auto kernel = kernel_of(R"(
    loop:
    v_add_f32 v0, v1, v2
    s_cbranch_scc1 loop
    v_mul_f32 v0, v1, v2
    s_cbranch_scc0 loop
    s_endpgm)");
  const auto loops = find_loops(kernel);
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_THAT(loops[0].body, ElementsAre(0, 1, 2, 3));
}

TEST(Loops, ALoopWhoseTestStandsFirst) {
  const auto kernel = kernel_of(R"(
    head:
    s_cmp_eq_u32 s0, 0
    s_cbranch_scc1 end
    v_add_f32 v0, v1, v2
    s_branch head
    end:
    s_endpgm)");
  const auto loops = find_loops(kernel);
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_THAT(loops[0].body, ElementsAre(0, 1, 2, 3));
}

TEST(Loops, JumpsBackThatAreNoLoops) {
  // Backwards to a block that runs once: the entry jumps over it.
  const auto kernel = kernel_of(R"(
    s_branch later
    once:
    v_add_f32 v0, v1, v2
    s_endpgm
    later:
    v_mul_f32 v0, v1, v2
    s_branch once
    never:
    v_add_f32 v0, v1, v2
    s_branch never)");
  EXPECT_TRUE(find_loops(kernel).empty());
}

TEST(Loops, MatrixWorkDecidesNotLength) {
  const auto kernel = kernel_of(R"(
    zero:
    ds_write_b32 v0, v1
    v_add_u32 v0, v0, v1
    v_add_u32 v0, v0, v1
    v_add_u32 v0, v0, v1
    v_add_u32 v0, v0, v1
    s_cbranch_scc1 zero
    main:
    v_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[8:11], v[0:3]
    s_cbranch_scc1 main
    store:
    s_mov_b32 s0, 1
    nested:
    global_store_dword v[0:1], v2, off
    s_cbranch_scc1 nested
    s_cbranch_scc1 store
    s_endpgm)");
  const auto loops = find_loops(kernel);
  ASSERT_EQ(loops.size(), 4u);
  const Loop* hot = hottest_loop(kernel, loops);
  ASSERT_NE(hot, nullptr);
  EXPECT_THAT(hot->body, ElementsAre(6, 7));
}

TEST(KernelReport, CountsAWaveAndARound) {
  const auto kernel = kernel_of(R"(
    s_load_dwordx4 s[0:3], s[4:5], 0x0
    loop:
    buffer_load_dwordx4 v2, s[8:11], 0 offen lds
    global_load_dwordx4 v[12:15], v[4:5], off
    global_load_ushort v16, v[4:5], off
    ds_read_b128 v[4:7], v0
    ds_read_b128 v[8:11], v0 offset:1024
    s_waitcnt lgkmcnt(0)
    v_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[8:11], v[0:3]
    v_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[8:11], v[0:3]
    v_add_u32 v0, v0, v1
    s_sub_u32 s0, s0, 1
    s_cbranch_scc1 loop
    s_endpgm)");
  const LoopReport report = report_loop(kernel, "gfx950");
  EXPECT_TRUE(report.is_loop);
  EXPECT_EQ(report.begin, 0x1004u);
  EXPECT_EQ(report.end, 0x1004u + 11 * 4);
  EXPECT_EQ(report.instructions, 11);
  EXPECT_EQ(report.count(Kind::mfma), 2);
  EXPECT_EQ(report.count(Kind::lds), 2);
  EXPECT_EQ(report.count(Kind::global_load), 2);
  EXPECT_EQ(report.count(Kind::global_to_lds), 1);
  EXPECT_EQ(report.count(Kind::wait), 1);
  EXPECT_EQ(report.count(Kind::valu), 1);
  EXPECT_EQ(report.count(Kind::salu), 1);
  EXPECT_EQ(report.count(Kind::branch), 1);
  EXPECT_EQ(report.count(Kind::smem), 0);
  EXPECT_EQ(report.flops, 2 * 16384.0);
  EXPECT_EQ(report.global_bytes, 64.0 * (16 + 16 + 2));
  EXPECT_EQ(report.lds_bytes, 64.0 * 32);
  EXPECT_DOUBLE_EQ(report.bytes_per_flop(), 64.0 * 34 / 32768);
  EXPECT_DOUBLE_EQ(report.flops_per_matrix_cycle(), 1024.0);  // gfx950's bf16 rate of one SIMD
}

TEST(KernelReport, WithoutALoopTheWholeKernelCounts) {
  const auto kernel = kernel_of("v_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[8:11], v[0:3]\n s_endpgm");
  const LoopReport report = report_loop(kernel, "gfx950");
  EXPECT_FALSE(report.is_loop);
  EXPECT_EQ(report.instructions, 2);
  EXPECT_EQ(report.count(Kind::mfma), 1);
}

}  // namespace
}  // namespace wavetune::isa
