// How AMD's libraries are found, chosen and refused, with stand-ins that are compiled here.
#include "runtime/hip/amd/amd_provider.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "db/base/error.h"
#include "db/base/file.h"
#include "runtime/hip/amd/amd_library.h"
#include "runtime/process/subprocess.h"

namespace wavetune::hip::amd {
namespace {

using testing::HasSubstr;

struct Fake {
  int version = 70253211;
  int init = 0;
  std::string arch = "gfx950:sramecc+:xnack-";
  int wave = 64;
};

/// A folder in the shape of a ROCm installation.
class AmdProviderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(lib());
    setenv("WAVETUNE_ROCM_PATH", root_.path().c_str(), 1);
  }
  void TearDown() override { unsetenv("WAVETUNE_ROCM_PATH"); }

  std::filesystem::path lib() const { return root_.path() / "lib"; }

  void build(const std::string& name, const Fake& fake = {}) {
    write_file_atomic(root_.path() / "fake_rest.inc", rest());
    process::SubprocessOptions options;
    options.arguments = {"g++", "-std=c++20", "-w", "-fPIC", "-shared", "-I" + root_.path().string()};
    const auto define = [&options](const std::string& macro, auto value) {
      options.arguments.push_back(fmt::format("-D{}={}", macro, value));
    };
    define("FAKE_VERSION", fake.version);
    define("FAKE_INIT", fake.init);
    define("FAKE_ARCH", '"' + fake.arch + '"');
    define("FAKE_WAVE", fake.wave);
    define("PROPERTIES_BYTES", sizeof(hipDeviceProp_tR0600));
    define("ARCH_OFFSET", offsetof(hipDeviceProp_tR0600, gcnArchName));
    define("NO_DEVICE", static_cast<int>(hipErrorNoDevice));
    define("WARP_SIZE", static_cast<int>(hipDeviceAttributeWarpSize));
    define("MAX_THREADS", static_cast<int>(hipDeviceAttributeMaxThreadsPerBlock));
    define("MAX_LDS", static_cast<int>(hipDeviceAttributeMaxSharedMemoryPerBlock));
    define("COMPUTE_UNITS", static_cast<int>(hipDeviceAttributeMultiprocessorCount));
    for (const std::string& last : {std::string(WAVETUNE_SOURCE_DIR "/tests/runtime/hip/fake_amdhip/fake_amdhip.cc"),
                                    std::string("-o"), (lib() / name).string()}) {
      options.arguments.push_back(last);
    }
    options.error_to_output = true;
    const auto result = process::run_and_capture(options);
    ASSERT_TRUE(result.status.ok()) << result.output;
  }

  /// Every function of the table that the stand-in does not write out itself.
  static std::string rest() {
    const std::string own = read_file(WAVETUNE_SOURCE_DIR "/tests/runtime/hip/fake_amdhip/fake_amdhip.cc");
    std::string text;
#define WAVETUNE_NAME(name) #name,
#define WAVETUNE_NAME_AS(name, ...) #name,
    for (const std::string name : {WAVETUNE_HIP_FUNCTIONS(WAVETUNE_NAME) WAVETUNE_HIP_OVERLOADED_FUNCTIONS(
             WAVETUNE_NAME_AS) WAVETUNE_HIPRTC_FUNCTIONS(WAVETUNE_NAME)}) {
      if (own.find(" " + name + "(") == std::string::npos) text += "int " + name + "() { return 1; }\n";
    }
#undef WAVETUNE_NAME
#undef WAVETUNE_NAME_AS
    return text;
  }

  process::TemporaryDirectory root_{"wavetune-fake-rocm"};
};

TEST_F(AmdProviderTest, TakesTheNewestVersionAndDescribesTheDevices) {
  build("libamdhip64.so.7");
  build("libamdhip64.so.10", {.version = 100012345});
  build("libhiprtc.so.10", {.version = 100012345});
  const AmdResult result = make_amd_provider(0);
  ASSERT_TRUE(result.provider) << result.detail;
  EXPECT_EQ(result.provider->driver(), "amdhip64 10.0.12345");
  EXPECT_EQ(result.provider->compiler(), "hiprtc");
  EXPECT_EQ(result.provider->compiler_version(), "10.3");
  ASSERT_EQ(result.provider->devices().size(), 2u);
  const DeviceInfo& device = result.provider->devices()[1];
  EXPECT_EQ(device.arch, "gfx950");
  EXPECT_EQ(device.name, "Fake MI355X");
  EXPECT_EQ(device.cu_count, 256);
  EXPECT_EQ(device.memory_bytes, std::size_t{288} << 30);
  EXPECT_EQ(device.limits.lds_bytes, 163840);
  EXPECT_THAT(result.provider->compile_options(device), testing::Contains("--offload-arch=gfx950"));
  EXPECT_THAT(result.provider->prelude(), HasSubstr("mfma"));
  EXPECT_EQ(make_amd_provider(1).provider->devices().size(), 1u);
  EXPECT_THAT(make_amd_provider(3).detail, HasSubstr("3 devices asked for, HIP shows 2"));
}

TEST_F(AmdProviderTest, TakesTheUnversionedNameWhenThereIsNoOther) {
  build("libamdhip64.so");
  build("libhiprtc.so");
  EXPECT_TRUE(make_amd_provider(0).provider) << make_amd_provider(0).detail;
}

TEST_F(AmdProviderTest, RefusesWithTheReason) {
  EXPECT_THAT(make_amd_provider(0).detail, HasSubstr("libamdhip64.so.7 or newer is not in " + lib().string()));

  write_file_atomic(lib() / "libamdhip64.so.7", "not a library");
  EXPECT_THAT(make_amd_provider(0).detail, HasSubstr((lib() / "libamdhip64.so.7").string() + ": file too short"));

  build("libamdhip64.so.8", {.version = 80000000});
  EXPECT_THAT(make_amd_provider(0).detail, HasSubstr("libhiprtc.so.7 or newer is not in"));
}

TEST_F(AmdProviderTest, RefusesOldVersionsAndMachinesWithoutDevices) {
  build("libamdhip64.so", {.version = 60443484});
  build("libhiprtc.so");
  EXPECT_THAT(make_amd_provider(0).detail, HasSubstr("is HIP 6.4.43484; wavetune needs 7 or newer"));
  build("libamdhip64.so.7", {.init = 100});
  EXPECT_THAT(make_amd_provider(0).detail, HasSubstr("hipInit says hipErrorNoDevice (fake text); /dev/kfd"));
  build("libamdhip64.so.8", {.arch = "gfx1201", .wave = 32});
  EXPECT_THAT(make_amd_provider(0).detail, HasSubstr("(gfx1201) has waves of 32 lanes"));
}

TEST_F(AmdProviderTest, MissingFunctionsAreNamed) {
  process::SubprocessOptions options;
  write_file_atomic(root_.path() / "empty.c", "int nothing;\n");
  options.arguments = {
      "g++", "-shared", "-fPIC", (root_.path() / "empty.c").string(), "-o", (lib() / "libamdhip64.so.7").string()};
  ASSERT_TRUE(process::run_and_capture(options).status.ok());
  std::filesystem::copy(lib() / "libamdhip64.so.7", lib() / "libhiprtc.so.7");
  EXPECT_THAT(make_amd_provider(0).detail, HasSubstr("libamdhip64.so.7 has no function hipInit"));
}

}  // namespace
}  // namespace wavetune::hip::amd
