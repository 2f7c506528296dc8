#include "runtime/isa/sm_occupancy.h"

#include <gtest/gtest.h>

namespace wavetune::isa {
namespace {

struct Case {
  const char* arch;
  BlockNeeds needs;
  int blocks;  ///< as NVIDIA's cuda_occupancy.h counts; 0: cannot be resident
};

class SmFits : public testing::TestWithParam<Case> {};

TEST_P(SmFits, AsNvidiasCalculatorCounts) {
  const Case& c = GetParam();
  const OccupancyResult result = sm_occupancy(c.needs, sm_limits(c.arch).value());
  const auto* fits = std::get_if<Occupancy>(&result);
  ASSERT_EQ(fits != nullptr, c.blocks > 0);
  if (fits == nullptr) return;
  EXPECT_EQ(fits->blocks_per_cu, c.blocks);
  EXPECT_EQ(fits->waves_per_cu, c.blocks * ((c.needs.threads + 31) / 32));
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Sm, SmFits, testing::Values(
  Case{"sm_90a", {256, 32, 0, 0}, 8},
  Case{"sm_90a", {32, 16, 0, 0}, 32},
  Case{"sm_90a", {96, 255, 0, 0}, 2},
  Case{"sm_90a", {128, 168, 0, 36000}, 3},
  Case{"sm_90a", {256, 128, 0, 98304}, 2},
  Case{"sm_90a", {384, 168, 0, 0}, 1},
  Case{"sm_90a", {512, 65, 0, 0}, 1},
  Case{"sm_90a", {1024, 64, 0, 0}, 1},
  Case{"sm_90a", {160, 200, 0, 0}, 1},
  Case{"sm_90a", {1024, 65, 0, 0}, 0},
  Case{"sm_90a", {128, 90, 0, 232448}, 1},
  Case{"sm_80", {256, 32, 0, 0}, 8},
  Case{"sm_80", {32, 16, 0, 0}, 32},
  Case{"sm_80", {96, 255, 0, 0}, 2},
  Case{"sm_80", {128, 168, 0, 36000}, 3},
  Case{"sm_80", {256, 128, 0, 98304}, 1},
  Case{"sm_80", {384, 168, 0, 0}, 1},
  Case{"sm_80", {512, 65, 0, 0}, 1},
  Case{"sm_80", {1024, 64, 0, 0}, 1},
  Case{"sm_80", {160, 200, 0, 0}, 1},
  Case{"sm_80", {1024, 65, 0, 0}, 0},
  Case{"sm_80", {128, 90, 0, 166912}, 1},
  Case{"sm_89", {256, 32, 0, 0}, 6},
  Case{"sm_89", {32, 16, 0, 0}, 24},
  Case{"sm_89", {96, 255, 0, 0}, 2},
  Case{"sm_89", {128, 168, 0, 36000}, 2},
  Case{"sm_89", {256, 128, 0, 98304}, 1},
  Case{"sm_89", {384, 168, 0, 0}, 1},
  Case{"sm_89", {512, 65, 0, 0}, 1},
  Case{"sm_89", {1024, 64, 0, 0}, 1},
  Case{"sm_89", {160, 200, 0, 0}, 1},
  Case{"sm_89", {1024, 65, 0, 0}, 0},
  Case{"sm_89", {128, 90, 0, 101376}, 1},
  Case{"sm_100a", {256, 32, 0, 0}, 8},
  Case{"sm_100a", {32, 16, 0, 0}, 32},
  Case{"sm_100a", {96, 255, 0, 0}, 2},
  Case{"sm_100a", {128, 168, 0, 36000}, 3},
  Case{"sm_100a", {256, 128, 0, 98304}, 2},
  Case{"sm_100a", {384, 168, 0, 0}, 1},
  Case{"sm_100a", {512, 65, 0, 0}, 1},
  Case{"sm_100a", {1024, 64, 0, 0}, 1},
  Case{"sm_100a", {160, 200, 0, 0}, 1},
  Case{"sm_100a", {1024, 65, 0, 0}, 0},
  Case{"sm_100a", {128, 90, 0, 232448}, 1},
  Case{"sm_120a", {256, 32, 0, 0}, 6},
  Case{"sm_120a", {32, 16, 0, 0}, 24},
  Case{"sm_120a", {96, 255, 0, 0}, 2},
  Case{"sm_120a", {128, 168, 0, 36000}, 2},
  Case{"sm_120a", {256, 128, 0, 98304}, 1},
  Case{"sm_120a", {384, 168, 0, 0}, 1},
  Case{"sm_120a", {512, 65, 0, 0}, 1},
  Case{"sm_120a", {1024, 64, 0, 0}, 1},
  Case{"sm_120a", {160, 200, 0, 0}, 1},
  Case{"sm_120a", {1024, 65, 0, 0}, 0},
  Case{"sm_120a", {128, 90, 0, 101376}, 1},
  Case{"sm_86", {256, 32, 0, 0}, 6},
  Case{"sm_86", {32, 16, 0, 0}, 16},
  Case{"sm_86", {96, 255, 0, 0}, 2},
  Case{"sm_86", {128, 168, 0, 36000}, 2},
  Case{"sm_86", {256, 128, 0, 98304}, 1},
  Case{"sm_86", {384, 168, 0, 0}, 1},
  Case{"sm_86", {512, 65, 0, 0}, 1},
  Case{"sm_86", {1024, 64, 0, 0}, 1},
  Case{"sm_86", {160, 200, 0, 0}, 1},
  Case{"sm_86", {1024, 65, 0, 0}, 0},
  Case{"sm_86", {128, 90, 0, 101376}, 1}));
// clang-format on

TEST(SmOccupancy, NamesWhatLimits) {
  const SmLimits limits = *sm_limits("sm_90a");
  const auto limiter = [&](const BlockNeeds& needs) {
    return std::get<Occupancy>(sm_occupancy(needs, limits)).limiter;
  };
  EXPECT_EQ(limiter({256, 32, 0, 0}), Limiter::wave_slots);
  EXPECT_EQ(limiter({32, 32, 0, 0}), Limiter::block_slots);
  EXPECT_EQ(limiter({256, 128, 0, 0}), Limiter::vgpr);
  EXPECT_EQ(limiter({256, 32, 0, 100000}), Limiter::lds);
  const auto reason = [&](const BlockNeeds& needs) {
    return std::get<NotResident>(sm_occupancy(needs, limits)).reason();
  };
  EXPECT_EQ(reason({2048, 32, 0, 0}), "a block of 2048 threads; the architecture allows 1024");
  EXPECT_EQ(reason({128, 32, 0, 232449}), "a block needs 232449 bytes of LDS, a compute unit has 232448");
  EXPECT_EQ(reason({1024, 128, 0, 0}),
            "a block needs 32 waves at once, its registers leave room for 16 on a compute unit");
}

TEST(SmOccupancy, TheArchitectureDecidesWhichModelCounts) {
  EXPECT_EQ(std::get<Occupancy>(*occupancy_on("gfx950", {256, 128, 0, 0})).waves_per_simd, 4);
  EXPECT_EQ(std::get<Occupancy>(*occupancy_on("sm_90a", {256, 128, 0, 0})).waves_per_simd, 4);
  EXPECT_EQ(std::get<Occupancy>(*occupancy_on("sm_90", {256, 32, 0, 0})).waves_per_simd, 16);
  EXPECT_FALSE(occupancy_on("cpu-x86-64", {}));
  EXPECT_FALSE(sm_limits("sm_70"));
}

}  // namespace
}  // namespace wavetune::isa
