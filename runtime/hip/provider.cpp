#include "runtime/hip/provider.h"

#include <charconv>

#include "db/base/error.h"
#include "runtime/hip/amd/amd_provider.h"
#include "runtime/hip/cpu/compiler.h"
#include "runtime/hip/cpu/cpu_provider.h"
#include "runtime/hip/cuda/cuda_provider.h"

namespace wavetune::hip {
namespace {

std::shared_ptr<const Provider> load_cpu(const DeviceSpec& spec) {
  return cpu::make_cpu_provider(spec.count > 0 ? spec.count : 1);
}

}  // namespace

std::string_view to_string(ProviderKind kind) {
  switch (kind) {
    case ProviderKind::amd:
      return "hip";
    case ProviderKind::cuda:
      return "cuda";
    case ProviderKind::cpu:
      return "cpu";
  }
  return "?";
}

DeviceSpec parse_device_spec(std::string_view text) {
  DeviceSpec spec;
  spec.text = std::string(text);
  const size_t colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  const auto refuse = [&] {
    fail(ErrorKind::usage,
         "--device '{}' is not a device; write auto, hip, cuda or cpu, with :N for a number of devices (cpu:8)", text);
  };
  if (word == "hip") {
    spec.kind = ProviderKind::amd;
  } else if (word == "cuda") {
    spec.kind = ProviderKind::cuda;
  } else if (word == "cpu") {
    spec.kind = ProviderKind::cpu;
  } else if (word != "auto" || colon != std::string_view::npos) {
    refuse();
  }
  if (colon != std::string_view::npos) {
    const std::string_view number = text.substr(colon + 1);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), spec.count);
    if (error != std::errc{} || end != number.data() + number.size() || spec.count < 1) refuse();
  }
  return spec;
}

std::shared_ptr<const Provider> load_provider(const DeviceSpec& spec) {
  if (spec.kind == ProviderKind::cpu) return load_cpu(spec);
  std::string reason;
  if (spec.kind != ProviderKind::cuda) {
    amd::AmdResult found = amd::make_amd_provider(spec.count);
    if (found.provider) return found.provider;
    reason = std::move(found.detail);
  }
  if (spec.kind != ProviderKind::amd) {
    cuda::CudaResult found = cuda::make_cuda_provider(spec.count);
    if (found.provider) return found.provider;
    reason = std::move(found.detail);
  }
  if (!spec.kind) return load_cpu(spec);
  fail(ErrorKind::not_found, "--device {}: {}; 'wavetune doctor' shows what is there, --device cpu works everywhere",
       spec.text, reason);
}

std::vector<ProviderStatus> probe_providers() {
  std::vector<ProviderStatus> all;
  const amd::AmdResult found = amd::make_amd_provider(0);
  all.push_back({ProviderKind::amd, found.provider != nullptr, found.detail});
  const cuda::CudaResult nvidia = cuda::make_cuda_provider(0);
  all.push_back({ProviderKind::cuda, nvidia.provider != nullptr, nvidia.detail});
  const std::optional<cpu::Compiler>& compiler = cpu::system_compiler();
  all.push_back({ProviderKind::cpu, compiler.has_value(),
                 compiler ? fmt::format("kernels through {} {}", compiler->name, compiler->version)
                          : "no C++ compiler for kernels: install g++ or set WAVETUNE_CPU_CXX"});
  return all;
}

db::Environment environment_of(const Provider& provider, const DeviceInfo& device) {
  return {device.name,       device.arch,         device.cu_count,
          provider.driver(), provider.compiler(), provider.compiler_version()};
}

}  // namespace wavetune::hip
