// Where hipRTC is looked for, with folders that look like installations.
#include "runtime/hip/amd/hiprtc_install.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "db/base/file.h"
#include "runtime/process/subprocess.h"

namespace wavetune::hip::amd {
namespace {

namespace fs = std::filesystem;

class HiprtcInstallTest : public testing::Test {
 protected:
  void SetUp() override { setenv("WAVETUNE_ROCM_PATH", root_.path().c_str(), 1); }
  void TearDown() override { unsetenv("WAVETUNE_ROCM_PATH"); }

  /// A file, and the link to it that programs ask for.
  void library(const std::string& folder, const std::string& version, const std::string& link) {
    fs::create_directories(root_.path() / folder);
    write_file_atomic(root_.path() / folder / ("libhiprtc.so." + version), "stand-in");
    if (!link.empty()) fs::create_symlink("libhiprtc.so." + version, root_.path() / folder / link);
  }
  fs::path root() const { return root_.path(); }

 private:
  process::TemporaryDirectory root_{"wavetune-hiprtc-root"};
};

constexpr const char* copied = "root/usr/lib/x86_64-linux-gnu";

TEST_F(HiprtcInstallTest, TakesTheNewestOfAnInstallation) {
  library("lib", "6.4.43483", "libhiprtc.so.6");
  library("lib", "7.2.53211", "libhiprtc.so.7");
  library("lib", "10.0.1", "libhiprtc.so.10");
  const HiprtcSearch search = find_hiprtc();
  ASSERT_TRUE(search.found);
  EXPECT_EQ(search.found->library, (root() / "lib/libhiprtc.so.10").string());
  EXPECT_EQ(search.found->version, "10.0.1");
  EXPECT_EQ(search.found->major_minor(), "10.0");
  EXPECT_EQ(search.found->loader, "") << "an installation fits the system's loader";
  EXPECT_EQ(search.found->place, "ROCm in " + root().string());
}

TEST_F(HiprtcInstallTest, APrivateCopyStartsThroughItsOwnLoader) {
  library(copied, "7.2.53211", "libhiprtc.so.7");
  write_file_atomic(root() / copied / "ld-linux-x86-64.so.2", "stand-in");
  for (const fs::path& named : {root(), root() / "root"}) {
    setenv("WAVETUNE_ROCM_PATH", named.c_str(), 1);
    const HiprtcSearch search = find_hiprtc();
    ASSERT_TRUE(search.found);
    EXPECT_EQ(search.found->library, (root() / copied / "libhiprtc.so.7").string());
    EXPECT_EQ(search.found->loader, (root() / copied / "ld-linux-x86-64.so.2").string());
    EXPECT_THAT(search.found->place, testing::HasSubstr("private copy in " + named.string()));
  }
}

TEST_F(HiprtcInstallTest, AnInstallationWinsOverACopyInTheSamePlace) {
  library(copied, "8.0.1", "libhiprtc.so.8");
  library("lib", "7.2.53211", "libhiprtc.so.7");
  EXPECT_EQ(find_hiprtc().found->library, (root() / "lib/libhiprtc.so.7").string());
}

TEST_F(HiprtcInstallTest, OlderAndDanglingOnesAreLeftOut) {
  library("lib", "6.4.43483", "libhiprtc.so.6");
  fs::create_symlink("libhiprtc.so.6.4.43483", root() / "lib/libhiprtc.so");
  fs::create_symlink("nowhere", root() / "lib/libhiprtc.so.9");
  const HiprtcSearch search = find_hiprtc();
  EXPECT_THAT(search.looked, testing::StartsWith(root().string() + ", "));
  if (search.found) {
    EXPECT_THAT(search.found->library, testing::Not(testing::StartsWith(root().string())));
  }
}

TEST_F(HiprtcInstallTest, TheIdentityChangesWithTheFiles) {
  library("lib", "7.2.53211", "libhiprtc.so.7");
  const std::string before = find_hiprtc().found->identity();
  EXPECT_EQ(before, find_hiprtc().found->identity());
  write_file_atomic(root() / "lib/libamd_comgr.so.3.0.0", "another compiler");
  const std::string with_compiler = find_hiprtc().found->identity();
  EXPECT_NE(with_compiler, before);
  write_file_atomic(root() / "lib/libamd_comgr.so.3.0.0", "yet another compiler");
  EXPECT_NE(find_hiprtc().found->identity(), with_compiler);
}

}  // namespace
}  // namespace wavetune::hip::amd
