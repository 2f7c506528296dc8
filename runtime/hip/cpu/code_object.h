// What the CPU's hipRTC produces: a shared object with a header that says where it can be loaded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace wavetune::hip::cpu {

struct CodeHeader {
  char magic[8];
  std::uint32_t abi_version;
  std::uint32_t sanitized;  ///< compiled with AddressSanitizer
  std::uint64_t bytes;      ///< of the shared object that follows
  char arch[40];            ///< cpu_arch() of the machine it was compiled for, zero-terminated
};

std::string pack_code_object(std::string_view shared_object, bool sanitized);
/// Null when `image` is not one of ours. Reads the magic first, so that any readable image of 8 bytes may be given.
const CodeHeader* code_header(const void* image);

/// "cpu-x86-64-v4" from what this processor can do; kernels compiled with -march=native for another are not loaded.
const std::string& cpu_arch();
/// Model name from /proc/cpuinfo.
const std::string& cpu_name();

}  // namespace wavetune::hip::cpu
