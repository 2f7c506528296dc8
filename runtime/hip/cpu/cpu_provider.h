// The CPU as a HIP device.
#pragma once

#include <memory>

#include "runtime/hip/provider.h"

namespace wavetune::hip::cpu {

/// Shows `count` devices (at most max_devices). Never fails for want of a compiler: compiling then does, with the
/// reason.
std::shared_ptr<const Provider> make_cpu_provider(int count);

}  // namespace wavetune::hip::cpu
