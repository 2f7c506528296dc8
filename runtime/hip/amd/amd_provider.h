// AMD's HIP: libamdhip64 and libhiprtc of ROCm 7 or newer, loaded at run time.
#pragma once

#include <memory>
#include <string>

#include "runtime/hip/provider.h"

namespace wavetune::hip::amd {

struct AmdResult {
  std::shared_ptr<const Provider> provider;  ///< null: `detail` says why not
  std::string detail;                        ///< one line; what was found when it worked
};

/// `count`: how many of the devices to use; 0: all.
AmdResult make_amd_provider(int count);

}  // namespace wavetune::hip::amd
