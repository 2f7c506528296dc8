// What a code object says of itself: the kernels' metadata in the ELF note of an AMD one, the attributes of a cubin.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <span>

#include "db/trial.h"
#include "runtime/hip/cuda/cubin.h"

namespace wavetune::jit {

/// The largest figure of each kind over the kernels in `code`. Empty when `code` is neither an ELF file with an
/// AMDGPU metadata note nor a cubin (other targets, damaged files): nothing is thrown, since the figures only inform.
///
/// `.vgpr_count` is the unified total (architectural and accumulation registers) on gfx90a and later.
db::Resources resources_of_code_object(std::span<const std::byte> code);

/// The AMDGPU metadata note as JSON ("amdhsa.kernels", "amdhsa.target"); null where there is none.
nlohmann::json metadata_of_code_object(std::span<const std::byte> code);

/// The figures in one entry of "amdhsa.kernels".
db::Resources resources_of_kernel(const nlohmann::json& kernel);
/// Those of a cubin's kernel, in AMD's words: VGPRs for registers of a thread, LDS for shared memory, scratch for local
/// memory. What is spilled the file does not say (see ptxas_report.h).
db::Resources resources_of_kernel(const hip::cuda::CubinKernel& kernel);

}  // namespace wavetune::jit
