#include "runtime/jit/target.h"

#include "db/base/error.h"
#include "runtime/hip/amd/amd_target.h"
#include "runtime/hip/amd/hiprtc_install.h"
#include "runtime/hip/cuda/cuda_target.h"
#include "runtime/hip/cuda/nvrtc_install.h"

namespace wavetune::jit {

namespace {

CompileTarget nvidia_target(std::string_view arch) {
  CompileTarget target;
  target.limits = hip::cuda::limits_of_arch(arch);
  const hip::cuda::NvrtcSearch search = hip::cuda::find_nvrtc();
  if (!search.found) fail(ErrorKind::not_found, "cannot compile for {}: {}", arch, search.missing());
  target.device = "cuda";
  target.arch = std::string(arch);
  target.options = hip::cuda::compile_options(arch);
  target.prelude = hip::cuda::prelude();
  target.compiler = "nvrtc";
  target.compiler_version = search.found->version;
  target.compiler_place = search.found->place;
  return target;
}

}  // namespace

CompileTarget compile_target_for_arch(std::string_view arch) {
  if (hip::cuda::is_arch(arch)) return nvidia_target(arch);
  CompileTarget target;
  target.limits = hip::amd::limits_of_arch(arch);
  const hip::amd::HiprtcSearch search = hip::amd::find_hiprtc();
  if (!search.found) {
    fail(ErrorKind::not_found,
         "no hipRTC to compile for {} with (looked in {}); install ROCm 7 or newer, or let ./setup.sh fetch a private "
         "copy "
         "and point WAVETUNE_ROCM_PATH at it (.rocm)",
         arch, search.looked);
  }
  target.device = "hip";
  target.arch = std::string(arch);
  target.options = hip::amd::compile_options(arch);
  target.prelude = hip::amd::prelude();
  target.compiler = "hiprtc";
  target.compiler_version = search.found->major_minor();
  target.compiler_place = search.found->place;
  return target;
}

CompileTarget compile_target_of(const hip::Provider& provider, const std::string& device) {
  const hip::DeviceInfo& first = provider.devices().front();
  CompileTarget target;
  target.device = device;
  target.arch = first.arch;
  target.options = provider.compile_options(first);
  target.prelude = provider.prelude();
  target.compiler = provider.compiler();
  target.compiler_version = provider.compiler_version();
  target.limits = first.limits;
  return target;
}

CompileRequest request_for(const CompileTarget& target, const templates::Operator& op,
                           const templates::Problem& problem, const templates::Config& config) {
  CompileRequest request{target.device, target.prelude + kernel_source(op, problem, config), target.options};
  for (std::string& option : op.compile_options()) request.options.push_back(std::move(option));
  return request;
}

}  // namespace wavetune::jit
