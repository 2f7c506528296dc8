#include "runtime/hip/absent_devices.h"

#include <gtest/gtest.h>

#include "db/base/error.h"
#include "runtime/hip/amd/amd_target.h"
#include "runtime/hip/cuda/cuda_target.h"

namespace wavetune::hip {
namespace {

TEST(AbsentDevices, AreWhatTheDatabaseSaysOfThem) {
  const db::Environment mi355x{"AMD Instinct MI355X", "gfx950", 128, "amdhip64 7.2", "hiprtc", "7.2"};
  const auto provider = absent_devices(mi355x, 4);
  EXPECT_EQ(provider->kind(), ProviderKind::amd);
  ASSERT_EQ(provider->devices().size(), 4u);
  EXPECT_EQ(provider->devices()[3].index, 3);
  EXPECT_EQ(environment_of(*provider, provider->devices().front()), mi355x);
  EXPECT_EQ(provider->devices().front().limits.cu_count, 128) << "of this device, not of the whole product line";
  EXPECT_EQ(provider->devices().front().limits.lds_bytes, amd::limits_of_arch("gfx950").lds_bytes);
  EXPECT_EQ(provider->compile_options(provider->devices().front()), amd::compile_options("gfx950"));
  EXPECT_EQ(provider->prelude(), amd::prelude());

  const db::Environment h200{"NVIDIA H200", "sm_90a", 132, "cuda 13.0", "nvrtc", "13.0"};
  const auto nvidia = absent_devices(h200, 1);
  EXPECT_EQ(nvidia->kind(), ProviderKind::cuda);
  EXPECT_EQ(nvidia->prelude(), cuda::prelude());
  EXPECT_EQ(environment_of(*nvidia, nvidia->devices().front()), h200);
}

TEST(AbsentDevices, OfUnknownArchitecturesThereAreNone) {
  for (const char* arch : {"cpu-x86-64-v4", "gfx1", "sm_1", ""})
    EXPECT_THROW(absent_devices({"device", arch, 1, "", "", ""}, 1), Error) << arch;
}

}  // namespace
}  // namespace wavetune::hip
