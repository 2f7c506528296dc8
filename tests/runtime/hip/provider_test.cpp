#include "runtime/hip/provider.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "db/base/error.h"

namespace wavetune::hip {
namespace {

TEST(DeviceSpec, AcceptedForms) {
  EXPECT_FALSE(parse_device_spec("auto").kind.has_value());
  EXPECT_EQ(parse_device_spec("hip").kind, ProviderKind::amd);
  EXPECT_EQ(parse_device_spec("hip:4").count, 4);
  EXPECT_EQ(parse_device_spec("cuda").kind, ProviderKind::cuda);
  EXPECT_EQ(parse_device_spec("cpu").count, 0);
  EXPECT_EQ(parse_device_spec("cpu:8").count, 8);
  for (const char* wrong :
       {"", "gpu", "cpu:", "cpu:0", "cpu:-1", "cpu:x", "cpu:8x", "auto:2", "CPU", "cpu:99999999999"}) {
    try {
      parse_device_spec(wrong);
      ADD_FAILURE() << wrong;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_THAT(error.what(), testing::HasSubstr("auto, hip, cuda or cpu")) << wrong;
    }
  }
}

TEST(Provider, CpuShowsAsManyDevicesAsAskedFor) {
  const auto provider = load_provider(parse_device_spec("cpu:3"));
  ASSERT_EQ(provider->devices().size(), 3u);
  const DeviceInfo& device = provider->devices()[2];
  EXPECT_EQ(device.index, 2);
  EXPECT_THAT(device.arch, testing::StartsWith("cpu"));
  EXPECT_EQ(device.limits.wave_size, 64);
  EXPECT_EQ(device.limits.max_block_threads, 1024);
  EXPECT_EQ(device.limits.lds_bytes, 160 * 1024);
  int count = 0;
  ASSERT_EQ(provider->api().hipGetDeviceCount(&count), hipSuccess);
  EXPECT_GE(count, 3);
  const db::Environment environment = environment_of(*provider, device);
  EXPECT_EQ(environment.arch, device.arch);
  EXPECT_FALSE(environment.compiler_version.empty());
  EXPECT_THROW(load_provider(parse_device_spec("cpu:1000")), Error);
}

TEST(Provider, WithoutADriverTheErrorSaysWhatIsMissing) {
  for (const ProviderStatus& status : probe_providers()) {
    if (status.usable) continue;
    try {
      load_provider(parse_device_spec(to_string(status.kind)));
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::not_found);
      EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr(status.detail), testing::HasSubstr("doctor")));
    }
  }
}

}  // namespace
}  // namespace wavetune::hip
