#include "runtime/hip/amd/amd_target.h"

#include <fmt/format.h>

#include "db/base/error.h"
#include "templates/embedded.h"

namespace wavetune::hip::amd {

std::vector<std::string> compile_options(std::string_view arch) {
  return {fmt::format("--offload-arch={}", arch), "-O3", "-std=c++20"};
}

std::string prelude() {
  std::string text;
  for (const char* part : {"amd", "common", "formats", "amd_memory", "amd_matrix", "amd_convert"}) {
    text += templates::embedded_source(fmt::format("templates/prelude/{}.hip", part));
  }
  return text;
}

templates::DeviceLimits limits_of_arch(std::string_view arch) {
  if (arch == "gfx950") return {"gfx950", 64, 1024, 163840, 256};
  if (arch == "gfx942") return {"gfx942", 64, 1024, 65536, 304};
  fail(ErrorKind::usage,
       "no kernels are written for the architecture '{}'; known are gfx950 (MI355X) and gfx942 (MI300X)", arch);
}

}  // namespace wavetune::hip::amd
