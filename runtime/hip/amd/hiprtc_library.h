// hipRTC alone: what a compile worker needs, with or without a GPU.
#pragma once

#include <string>

#include "runtime/hip/api.h"

namespace wavetune::hip::amd {

/// A table with only the hiprtc functions filled, from the library at this path, which stays loaded. Throws Error
/// not_found with the loader's reason.
Api load_hiprtc(const std::string& library);

}  // namespace wavetune::hip::amd
