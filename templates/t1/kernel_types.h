// The types that a kernel's arguments have, by the names that T1 files and C++ use.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "templates/dtype.h"

namespace wavetune::templates {

/// A scalar, or a vector type such as float4.
struct KernelType {
  std::string name;  ///< as it was written
  DType dtype = DType::f32;
  int components = 1;
  std::size_t bytes() const { return static_cast<std::size_t>(components) * size_of(dtype); }
};

/// T1's names ("int32", "uint8", "float", "half"), C's ("unsigned int", "long long", "std::int32_t") and HIP's
/// ("float4", "__half", "__hip_bfloat16", "hip_bfloat16"). Nothing for others.
std::optional<KernelType> kernel_type(std::string_view name);

/// The names for a message.
std::string_view known_kernel_types();

}  // namespace wavetune::templates
