// Where NVRTC is looked for, with folders that look like installations.
#include "runtime/hip/cuda/nvrtc_install.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "db/base/file.h"
#include "runtime/hip/cuda/nvrtc.h"
#include "runtime/process/subprocess.h"
#include "tests/support/error_of.h"

namespace wavetune::hip::cuda {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class NvrtcInstallTest : public testing::Test {
 protected:
  void SetUp() override { setenv("WAVETUNE_CUDA_PATH", root().c_str(), 1); }
  void TearDown() override { unsetenv("WAVETUNE_CUDA_PATH"); }

  void file(const std::string& path, const std::string& content = "stand-in") {
    fs::create_directories((root() / path).parent_path());
    write_file_atomic(root() / path, content);
  }
  fs::path root() const { return root_.path(); }

 private:
  process::TemporaryDirectory root_{"wavetune-nvrtc-root"};
};

TEST_F(NvrtcInstallTest, TakesTheNewestOfAToolkitAndItsVersionFromTheBuiltIns) {
  file("lib64/libnvrtc.so.12.8.93");
  fs::create_symlink("libnvrtc.so.12.8.93", root() / "lib64/libnvrtc.so.12");
  file("lib64/libnvrtc-builtins.so.12.8");
  file("lib64/libnvrtc.so.13");
  file("lib64/libnvrtc.alt.so.13");
  file("lib64/libnvrtc-builtins.so.13.0.88");
  fs::create_symlink("libnvrtc-builtins.so.13.0.88", root() / "lib64/libnvrtc-builtins.so.13.0");
  file("lib64/libnvrtc-builtins.alt.so.13.0");
  const NvrtcSearch search = find_nvrtc();
  ASSERT_TRUE(search.found);
  EXPECT_EQ(search.found->library, (root() / "lib64/libnvrtc.so.13").string());
  EXPECT_EQ(search.found->builtins, (root() / "lib64/libnvrtc-builtins.so.13.0").string());
  EXPECT_EQ(search.found->version, "13.0");
  EXPECT_EQ(search.found->place, "CUDA in " + root().string());
}

TEST_F(NvrtcInstallTest, KnowsTheLayoutOfTheWheel) {
  file("nvidia/cu13/lib/libnvrtc.so.13");
  file("nvidia/cu13/lib/libnvrtc-builtins.so.13.1");
  EXPECT_EQ(find_nvrtc().found->version, "13.1");
}

TEST_F(NvrtcInstallTest, TheIdentityChangesWithTheFiles) {
  file("lib/libnvrtc.so.13");
  file("lib/libnvrtc-builtins.so.13.0");
  const std::string before = find_nvrtc().found->identity();
  file("lib/libnvrtc-builtins.so.13.0", "another compiler");
  EXPECT_NE(find_nvrtc().found->identity(), before);
}

TEST_F(NvrtcInstallTest, OlderOnesAreLeftOutAndTheTextSaysWhatToDo) {
  file("lib/libnvrtc.so.11.2");
  file("lib/libnvrtc.so.11");
  const NvrtcSearch search = find_nvrtc();
  EXPECT_THAT(search.looked, testing::StartsWith(root().string()));
  if (search.found) {
    EXPECT_THAT(search.found->library, testing::Not(testing::StartsWith(root().string())));
  }
  EXPECT_THAT(search.missing(),
              testing::AllOf(HasSubstr("libnvrtc.so.12"), HasSubstr(root().string()), HasSubstr("WAVETUNE_CUDA_PATH")));
}

TEST_F(NvrtcInstallTest, WhatIsNoLibraryIsRefusedWithTheLoadersReason) {
  file("lib/libnvrtc.so.13");
  EXPECT_THAT(test::error_of([&] { load_nvrtc((root() / "lib/libnvrtc.so.13").string()); }).what(),
              testing::AllOf(HasSubstr("NVRTC cannot be loaded"), HasSubstr("libnvrtc.so.13")));
}

TEST(NvrtcOptions, HiprtcsSpellingIsTranslated) {
  const char* const options[] = {"--offload-arch=sm_90a", "-O3", "-ffast-math", "-DX=1", "-Os", "--std=c++20"};
  EXPECT_THAT(nvrtc_options(6, options), testing::ElementsAre("--gpu-architecture=sm_90a", "--use_fast_math", "-DX=1",
                                                              "--std=c++20", "--ptxas-options=-v"));
}

}  // namespace
}  // namespace wavetune::hip::cuda
