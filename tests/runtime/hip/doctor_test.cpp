#include "runtime/hip/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "runtime/hip/doctor_command.h"

namespace wavetune::hip {
namespace {

TEST(Doctor, WhatIsMissingSaysWhatItCosts) {
  setenv("WAVETUNE_CACHE_DIR", "/proc/no-such-folder", 1);
  const Diagnosis found = diagnose();
  unsetenv("WAVETUNE_CACHE_DIR");
  ASSERT_EQ(found.providers.size(), 3u);
  for (const Finding& finding : found.findings) {
    EXPECT_FALSE(finding.detail.empty()) << finding.name;
    EXPECT_EQ(finding.cost.empty(), finding.health == Health::ok) << finding.name;
    if (finding.name == "kernel cache") {
      EXPECT_EQ(finding.health, Health::missing);
      EXPECT_THAT(finding.detail, testing::HasSubstr("/proc/no-such-folder"));
    }
  }
  for (const ProviderStatus& status : found.providers) EXPECT_FALSE(status.detail.empty());
}

TEST(Doctor, PrintsTextAndJson) {
  testing::internal::CaptureStdout();
  const int code = doctor_command({});
  std::fflush(stdout);
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_THAT(text, testing::AllOf(testing::HasSubstr("Devices"), testing::HasSubstr("libamdhip64"),
                                   testing::HasSubstr("g++")));
  testing::internal::CaptureStdout();
  EXPECT_EQ(doctor_command({"--json"}), code);
  std::fflush(stdout);
  const std::string json = testing::internal::GetCapturedStdout();
  EXPECT_EQ(json.front(), '{');
  EXPECT_THAT(json, testing::AllOf(testing::HasSubstr("\"providers\""), testing::HasSubstr("\"devices\""),
                                   testing::HasSubstr("\"findings\"")));
}

}  // namespace
}  // namespace wavetune::hip
