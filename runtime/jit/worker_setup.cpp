#include "runtime/jit/worker_setup.h"

#include <unistd.h>

#include <cstdlib>

#include "db/base/error.h"
#include "runtime/hip/amd/hiprtc_install.h"
#include "runtime/hip/cuda/nvrtc_install.h"
#include "runtime/hip/provider.h"

namespace wavetune::jit {
namespace {

WorkerSetup hiprtc_setup() {
  const hip::amd::HiprtcSearch search = hip::amd::find_hiprtc();
  if (!search.found) {
    fail(
        ErrorKind::not_found,
        "no hipRTC to compile with (looked in {}); install ROCm 7 or newer, or let ./setup.sh fetch a private copy and "
        "point WAVETUNE_ROCM_PATH at it (.rocm)",
        search.looked);
  }
  WorkerSetup setup;
  setup.device = "hip";
  setup.library = search.found->library;
  setup.loader = search.found->loader;
  if (!setup.loader.empty()) setup.library_path = search.found->folder;
  setup.identity = search.found->identity();
  return setup;
}

WorkerSetup nvrtc_setup() {
  const hip::cuda::NvrtcSearch search = hip::cuda::find_nvrtc();
  if (!search.found) fail(ErrorKind::not_found, "{}", search.missing());
  WorkerSetup setup;
  setup.device = "cuda";
  setup.library = search.found->library;
  setup.identity = search.found->identity();
  return setup;
}

}  // namespace

std::vector<std::string> WorkerSetup::command(const std::filesystem::path& executable) const {
  // Not /proc/self/exe: under another loader that would be the loader.
  const std::string program = executable.empty() ? fmt::format("/proc/{}/exe", ::getpid()) : executable.string();
  if (loader.empty()) return {program, "__compile-worker"};
  return {loader, "--library-path", library_path, program, "__compile-worker"};
}

WorkerSetup worker_setup(const std::string& device) {
  const hip::DeviceSpec spec = hip::parse_device_spec(device);
  if (spec.kind == hip::ProviderKind::amd) return hiprtc_setup();
  if (spec.kind == hip::ProviderKind::cuda) return nvrtc_setup();
  const auto provider = hip::load_provider(spec);
  if (provider->kind() == hip::ProviderKind::amd) return hiprtc_setup();
  if (provider->kind() == hip::ProviderKind::cuda) return nvrtc_setup();
  WorkerSetup setup;
  setup.device = hip::to_string(provider->kind());
  // Kernels compiled under the CPU provider's sanitizer differ although source and options are the same.
  const char* sanitize = std::getenv("WAVETUNE_CPU_SANITIZE");
  setup.identity = fmt::format("{} {} {} {}", provider->driver(), provider->compiler(), provider->compiler_version(),
                               provider->kind() == hip::ProviderKind::cpu && sanitize != nullptr ? sanitize : "");
  return setup;
}

}  // namespace wavetune::jit
