#include "runtime/hip/cpu/code_object.h"

#include <algorithm>
#include <cstring>
#include <fstream>

#include "templates/prelude/cpu_abi.hip"

namespace wavetune::hip::cpu {
namespace {

constexpr char code_magic[8] = {'W', 'T', 'C', 'P', 'U', 'S', 'O', '\n'};

std::string find_arch() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  // The levels of the x86-64 psABI by their features: clang 14 does not know the levels' names.
  const bool v2 =
      __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("popcnt");
  const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  if (v4) return "cpu-x86-64-v4";
  if (v3) return "cpu-x86-64-v3";
  if (v2) return "cpu-x86-64-v2";
  return "cpu-x86-64";
#elif defined(__aarch64__)
  return "cpu-aarch64";
#else
  return "cpu";
#endif
}

std::string find_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (line.starts_with("model name") && colon != std::string::npos)
      return line.substr(std::min(colon + 2, line.size()));
  }
  return "CPU";
}

}  // namespace

const std::string& cpu_arch() {
  static const std::string arch = find_arch();
  return arch;
}

const std::string& cpu_name() {
  static const std::string name = find_name();
  return name;
}

std::string pack_code_object(std::string_view shared_object, bool sanitized) {
  CodeHeader header{};
  std::copy_n(code_magic, sizeof code_magic, header.magic);
  header.abi_version = wt_cpu::abi_version;
  header.sanitized = sanitized ? 1 : 0;
  header.bytes = shared_object.size();
  cpu_arch().copy(header.arch, sizeof header.arch - 1);
  std::string packed(sizeof header, '\0');
  std::memcpy(packed.data(), &header, sizeof header);
  return packed.append(shared_object);
}

const CodeHeader* code_header(const void* image) {
  if (image == nullptr || std::memcmp(image, code_magic, sizeof code_magic) != 0) return nullptr;
  return static_cast<const CodeHeader*>(image);
}

}  // namespace wavetune::hip::cpu
