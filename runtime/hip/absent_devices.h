// Devices that are not in this machine: kernels are chosen and compiled for them, nothing runs on them.
#pragma once

#include <memory>

#include "db/trial.h"
#include "runtime/hip/provider.h"

namespace wavetune::hip {

/// `count` devices as a database describes them, with no function in the table: a call through it ends the process.
/// Throws Error usage for an architecture that cannot be compiled for without a device (the CPU's among them).
std::shared_ptr<const Provider> absent_devices(const db::Environment& environment, int count);

}  // namespace wavetune::hip
