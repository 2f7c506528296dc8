// HIP over NVIDIA's driver and NVRTC, both loaded at run time.
#pragma once

#include <memory>
#include <string>

#include "runtime/hip/provider.h"

namespace wavetune::hip::cuda {

struct CudaResult {
  std::shared_ptr<const Provider> provider;  ///< null: `detail` says why not
  std::string detail;                        ///< one line; what was found when it worked
};

/// `count`: how many of the devices to use; 0: all.
CudaResult make_cuda_provider(int count);

}  // namespace wavetune::hip::cuda
