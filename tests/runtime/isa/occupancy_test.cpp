#include "runtime/isa/occupancy.h"

#include <gtest/gtest.h>

namespace wavetune::isa {
namespace {

struct Case {
  const char* what;
  const char* arch;
  BlockNeeds needs;
  int waves_per_simd;
  int blocks_per_cu;
  Limiter limiter;
};

class Fits : public testing::TestWithParam<Case> {};

TEST_P(Fits, AsComputedByHand) {
  const Case& c = GetParam();
  const OccupancyResult result = occupancy(c.needs, cu_limits(c.arch).value());
  ASSERT_TRUE(std::holds_alternative<Occupancy>(result)) << std::get<NotResident>(result).reason();
  const auto& fits = std::get<Occupancy>(result);
  EXPECT_EQ(fits.waves_per_simd, c.waves_per_simd);
  EXPECT_EQ(fits.blocks_per_cu, c.blocks_per_cu);
  EXPECT_EQ(fits.waves_per_cu, c.blocks_per_cu * ((c.needs.threads + 63) / 64));
  EXPECT_EQ(to_string(fits.limiter), to_string(c.limiter));
}

INSTANTIATE_TEST_SUITE_P(
    Occupancy, Fits,
    testing::Values(Case{"small kernel", "gfx950", {256, 32, 32, 0}, 8, 8, Limiter::wave_slots},
                    Case{
                        "64 registers are the most for 8 waves", "gfx950", {256, 64, 32, 0}, 8, 8, Limiter::wave_slots},
                    Case{"65 round up to 72", "gfx950", {256, 65, 32, 0}, 7, 7, Limiter::vgpr},
                    Case{"128 registers", "gfx950", {256, 128, 32, 0}, 4, 4, Limiter::vgpr},
                    Case{"168 registers", "gfx950", {256, 168, 32, 0}, 3, 3, Limiter::vgpr},
                    Case{"256 registers", "gfx950", {256, 256, 32, 0}, 2, 2, Limiter::vgpr},
                    Case{"all 512", "gfx950", {256, 512, 32, 0}, 1, 1, Limiter::vgpr},
                    Case{"8 waves of 256: one block fills a CU", "gfx950", {512, 256, 32, 0}, 2, 1, Limiter::vgpr},
                    Case{"half of the LDS", "gfx950", {256, 64, 32, 81920}, 2, 2, Limiter::lds},
                    Case{"one byte more: one block", "gfx950", {256, 64, 32, 81921}, 1, 1, Limiter::lds},
                    Case{"all of the LDS", "gfx950", {256, 64, 32, 163840}, 1, 1, Limiter::lds},
                    Case{"gfx942 has 64 KiB", "gfx942", {256, 64, 32, 32768}, 2, 2, Limiter::lds},
                    Case{"LDS granule of gfx942", "gfx942", {64, 32, 32, 3585}, 4, 16, Limiter::lds},
                    Case{"LDS granule of gfx950", "gfx950", {64, 32, 32, 7681}, 5, 18, Limiter::lds},
                    Case{"SGPRs above 100", "gfx950", {64, 32, 106, 0}, 7, 28, Limiter::sgpr},
                    Case{"two-wave blocks hold barriers", "gfx950", {128, 32, 32, 0}, 8, 16, Limiter::wave_slots},
                    Case{"one-wave blocks do not", "gfx950", {64, 32, 32, 0}, 8, 32, Limiter::wave_slots},
                    Case{"100 threads are two waves", "gfx950", {100, 256, 32, 0}, 2, 4, Limiter::vgpr},
                    Case{"five waves leave slots unused", "gfx950", {320, 128, 32, 0}, 4, 3, Limiter::vgpr}),
    [](const auto& each) { return std::to_string(each.index); });

TEST(Occupancy, NeverExceedsTheWaveSlots) {
  for (const int threads : {64, 128, 192, 256, 320, 512, 640, 1024}) {
    for (const int vgprs : {0, 8, 64, 72, 128, 200, 256}) {
      for (const int lds : {0, 1, 513, 1281, 20000, 65536}) {
        const CuLimits limits = *cu_limits("gfx950");
        const OccupancyResult result = occupancy({threads, vgprs, 16, lds}, limits);
        if (const auto* fits = std::get_if<Occupancy>(&result)) {
          EXPECT_LE(fits->waves_per_simd, limits.waves_per_simd);
          EXPECT_LE(fits->waves_per_simd, waves_by_vgprs(vgprs, limits)) << threads << " " << vgprs;
          EXPECT_LE(fits->blocks_per_cu * lds, limits.lds_bytes);
        }
      }
    }
  }
}

// 66 registers leave room for 7 waves, which three blocks of 8 waves cannot use up; 5 x 32768 bytes are all of the LDS,
// but each is allocated as 26 granules of 1280.
TEST(Occupancy, TheCompilerCountsNeitherWholeBlocksNorLdsGranules) {
  const struct {
    BlockNeeds needs;
    int ours;
    int compilers;
  } cases[] = {{{512, 66, 32, 0}, 6, 7},     {{512, 166, 32, 0}, 2, 3},  {{256, 64, 32, 32768}, 4, 5},
               {{256, 64, 32, 0}, 8, 8},     {{64, 32, 32, 8192}, 5, 5}, {{256, 96, 32, 32768}, 4, 5},
               {{256, 128, 106, 1024}, 4, 4}};
  for (const auto& c : cases) {
    const auto fits = std::get<Occupancy>(occupancy(c.needs, *cu_limits("gfx950")));
    EXPECT_EQ(fits.waves_per_simd, c.ours) << c.needs.vgprs;
    EXPECT_EQ(fits.compiler_waves_per_simd, c.compilers) << c.needs.vgprs;
  }
}

struct Misfit {
  BlockNeeds needs;
  Limiter limiter;
  const char* words;
};

TEST(Occupancy, SaysWhyABlockCannotBeResident) {
  const Misfit cases[] = {
      {{2048, 32, 32, 0}, Limiter::threads, "a block of 2048 threads; the architecture allows 1024"},
      {{256, 32, 32, 163841}, Limiter::lds, "a block needs 163841 bytes of LDS, a compute unit has 163840"},
      {{256, 513, 32, 0},
       Limiter::vgpr,
       "a block needs 4 waves at once, its registers leave room for 0 on a compute unit"},
      {{512, 264, 32, 0},
       Limiter::vgpr,
       "a block needs 8 waves at once, its registers leave room for 4 on a compute unit"},
  };
  for (const Misfit& c : cases) {
    const OccupancyResult result = occupancy(c.needs, *cu_limits("gfx950"));
    ASSERT_TRUE(std::holds_alternative<NotResident>(result)) << c.words;
    EXPECT_EQ(to_string(std::get<NotResident>(result).limiter), to_string(c.limiter));
    EXPECT_EQ(std::get<NotResident>(result).reason(), c.words);
  }
}

TEST(Occupancy, AccumulationRegistersBeginAtAMultipleOfFour) {
  EXPECT_EQ(unified_vgprs(101, 0), 101);
  EXPECT_EQ(unified_vgprs(101, 128), 104 + 128);
  EXPECT_EQ(unified_vgprs(256, 256), 512);
}

TEST(Occupancy, KnowsOnlyItsArchitectures) {
  EXPECT_EQ(cu_limits("gfx950")->lds_bytes, 163840);
  EXPECT_EQ(cu_limits("gfx942")->lds_bytes, 65536);
  EXPECT_FALSE(cu_limits("gfx1201").has_value());
  EXPECT_FALSE(cu_limits("cpu-x86-64").has_value());
}

}  // namespace
}  // namespace wavetune::isa
