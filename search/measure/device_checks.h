// Looks at device memory where it is: whether inputs are as they were, guard bands hold and outputs are right, without
// bringing gigabytes of weights and millions of outputs to the host for every configuration.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "runtime/hip/handles.h"
#include "templates/operator.h"

namespace wavetune::measure {

/// The kernels, those of Operator::reference_launch() among them, to be compiled after the target's prelude.
std::string device_checks_source();

/// On the device that was current when it was made.
class DeviceChecks {
 public:
  DeviceChecks(const hip::Api& api, std::span<const std::byte> code);

  /// Both begin at multiples of 16 bytes.
  struct Copy {
    const void* data = nullptr;
    const void* original = nullptr;
    std::size_t bytes = 0;
  };
  /// Bands of so many bytes each, wherever they begin.
  struct Bands {
    std::span<const void* const> begins;
    std::size_t bytes = 0;
  };

  /// What is no longer as it was: a flag for each copy, then one for each band that does not hold 0xFF everywhere. Puts
  /// the work on `stream` and waits for it, and so for all that is on it.
  std::vector<bool> changed(hipStream_t stream, std::span<const Copy> copies, const Bands& bands);

  struct Elements {
    const void* got = nullptr;
    const void* expected = nullptr;
    templates::DType type = templates::DType::f32;
    std::int64_t count = 0;
    templates::Tolerance tolerance;
  };
  /// Types that worst() takes.
  static bool compares(templates::DType type);
  /// The largest deviation in units of the tolerance, infinite where one of two different values is not finite, as
  /// templates::quick_worst() finds it, rounded to float. Waits for `stream`.
  double worst(hipStream_t stream, const Elements& elements);

  /// Runs a launch of Operator::reference_launch() and waits for it.
  void compute(const templates::Launch& launch);

 private:
  void reserve(std::size_t flags, std::size_t bands);

  const hip::Api& api_;
  hip::Module module_;
  hipFunction_t differs_ = nullptr, bands_hold_ = nullptr, elements_ = nullptr;
  hip::DeviceBuffer worst_;        ///< float for each block
  hip::DeviceBuffer flags_;        ///< i32 each
  hip::DeviceBuffer band_begins_;  ///< pointers
  std::vector<const void*> known_bands_;
};

}  // namespace wavetune::measure
