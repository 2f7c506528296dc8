#include "runtime/hip/absent_devices.h"

#include "db/base/error.h"
#include "runtime/hip/amd/amd_target.h"
#include "runtime/hip/cuda/cuda_target.h"

namespace wavetune::hip {
namespace {

class AbsentDevices final : public Provider {
 public:
  AbsentDevices(const db::Environment& environment, int count)
      : kind_(cuda::is_arch(environment.arch) ? ProviderKind::cuda : ProviderKind::amd) {
    driver_ = environment.driver;
    compiler_ = environment.compiler;
    compiler_version_ = environment.compiler_version;
    DeviceInfo info;
    info.name = environment.device;
    info.arch = environment.arch;
    info.cu_count = environment.cu_count;
    info.limits = kind_ == ProviderKind::cuda ? cuda::limits_of_arch(info.arch) : amd::limits_of_arch(info.arch);
    info.limits.cu_count = environment.cu_count;
    for (info.index = 0; info.index < count; ++info.index) devices_.push_back(info);
  }

  ProviderKind kind() const override { return kind_; }
  std::vector<std::string> compile_options(const DeviceInfo& device) const override {
    return kind_ == ProviderKind::cuda ? cuda::compile_options(device.arch) : amd::compile_options(device.arch);
  }
  std::string prelude() const override { return kind_ == ProviderKind::cuda ? cuda::prelude() : amd::prelude(); }

 private:
  ProviderKind kind_;
};

}  // namespace

std::shared_ptr<const Provider> absent_devices(const db::Environment& environment, int count) {
  if (environment.arch.starts_with("cpu")) {
    fail(ErrorKind::usage, "{} is compiled for by its own machine alone; use --device cpu there", environment.arch);
  }
  return std::make_shared<AbsentDevices>(environment, count);
}

}  // namespace wavetune::hip
