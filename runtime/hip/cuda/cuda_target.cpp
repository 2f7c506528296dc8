#include "runtime/hip/cuda/cuda_target.h"

#include <fmt/format.h>

#include "db/base/error.h"
#include "templates/embedded.h"

namespace wavetune::hip::cuda {
namespace {

constexpr int warp_lanes = 32;
constexpr int block_threads = 1024;

struct Known {
  std::string_view arch;
  int lds_bytes;
  int sm_count;
};
constexpr Known known[] = {
    {"sm_80", 166912, 108},   {"sm_89", 101376, 142},   {"sm_90", 232448, 132},   {"sm_90a", 232448, 132},
    {"sm_100a", 232448, 148}, {"sm_103a", 232448, 148}, {"sm_120a", 101376, 188},
};

}  // namespace

std::string arch_of(int major, int minor) {
  constexpr int first_with_own_variant = 9;
  return fmt::format("sm_{}{}{}", major, minor, major >= first_with_own_variant ? "a" : "");
}

std::vector<std::string> compile_options(std::string_view arch) {
  // Functions without a mark are device functions, as in hipRTC. Most kernels leave part of the prelude unused, which
  // is worth no warning (177).
  return {fmt::format("--gpu-architecture={}", arch), "--std=c++20", "--device-as-default-execution-space",
          "--diag-suppress=177"};
}

std::string prelude() {
  std::string text;
  for (const char* part : {"cuda", "common", "formats", "cuda_memory", "cuda_matrix", "cuda_convert", "cuda_async"}) {
    text += templates::embedded_source(fmt::format("templates/prelude/{}.hip", part));
  }
  return text;
}

bool is_arch(std::string_view arch) { return arch.starts_with("sm_"); }

templates::DeviceLimits limits_of_arch(std::string_view arch) {
  std::string names;
  for (const Known& entry : known) {
    if (entry.arch == arch) return {std::string(arch), warp_lanes, block_threads, entry.lds_bytes, entry.sm_count};
    names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.arch);
  }
  fail(ErrorKind::usage, "no kernels are written for the NVIDIA architecture '{}'; known are {}", arch, names);
}

}  // namespace wavetune::hip::cuda
