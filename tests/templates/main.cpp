// The templates' tests, on the CPU or, with WAVETUNE_TEST_DEVICE, on a GPU: the same cases against the same references.
// Ends with code 77, which CTest shows as skipped, when there is no such device.
#include <gtest/gtest.h>

#include <cstdio>

#include "db/base/error.h"
#include "operator_harness.h"
#include "runtime/hip/provider.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const std::string spec = wavetune::templates::test::device_spec();
  try {
    (void)wavetune::hip::load_provider(wavetune::hip::parse_device_spec(spec));
  } catch (const wavetune::Error& error) {
    constexpr int skipped = 77;
    std::printf("skipped: %s\n", error.what());
    return skipped;
  }
  const int result = RUN_ALL_TESTS();
  // A filter that fits nothing (tests/CMakeLists.txt names suites) must not look like success.
  return testing::UnitTest::GetInstance()->test_to_run_count() == 0 ? 1 : result;
}
