// What a cubin (the ELF file that NVRTC, nvcc and Triton write for one NVIDIA architecture) says of its kernels.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wavetune::hip::cuda {

struct CubinKernel {
  std::string name;
  int registers = 0;    ///< of one thread
  int lds_bytes = 0;    ///< static shared memory that the source asks for
  int stack_bytes = 0;  ///< local memory of one thread: spilled registers and arrays that are indexed at run time
  int max_threads = 0;  ///< of __launch_bounds__; 0: none
  int parameters = 0;   ///< how many it takes
};

struct Cubin {
  std::string arch;  ///< "sm_90": the file does not say whether it was compiled for sm_90 or sm_90a
  std::vector<CubinKernel> kernels;
};

bool is_cubin(std::span<const std::byte> bytes);

/// Throws Error bad_data naming `where` when the bytes are no cubin; figures that are not there stay 0.
Cubin read_cubin(std::span<const std::byte> bytes, std::string_view where);

/// Whether the file defines a symbol, also one of internal linkage (which the driver's cuModuleGetGlobal does not
/// find).
bool cubin_defines(std::span<const std::byte> bytes, std::string_view symbol);

/// The bytes of an image of unknown length, as cuModuleLoadData takes it; empty for what is no cubin (PTX, a fat
/// binary).
std::span<const std::byte> cubin_at(const void* image);

}  // namespace wavetune::hip::cuda
