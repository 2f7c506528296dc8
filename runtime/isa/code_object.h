// The kernels of a code object: their figures and, of an AMD one, their machine code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/trial.h"

namespace wavetune::isa {

struct KernelCode {
  std::string name;
  db::Resources resources;
  int max_threads = 0;              ///< largest block that it was compiled for (.max_flat_workgroup_size)
  std::uint64_t address = 0;        ///< of its first instruction, as the code object is laid out in memory
  std::span<const std::byte> code;  ///< points into the bytes that were read; empty for NVIDIA
};

struct CodeObject {
  std::string target;  ///< "amdgcn-amd-amdhsa--gfx950", with feature suffixes when it has some; "sm_90"
  std::string arch;    ///< "gfx950", "sm_90"
  std::vector<KernelCode> kernels;

  /// The kernel of that name; with an empty name the only one. Throws Error usage that lists the names.
  const KernelCode& kernel(std::string_view name) const;
};

/// Reads an ELF code object for one architecture (what hipRTC, NVRTC and Triton write). The bytes must outlive the
/// result. Throws Error bad_data saying what is missing, naming `where` (a file, a configuration).
CodeObject read_code_object(std::span<const std::byte> bytes, std::string_view where);

}  // namespace wavetune::isa
