#include "runtime/hip/cpu/cpu_provider.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "db/base/error.h"
#include "runtime/hip/cpu/calls.h"
#include "runtime/hip/cpu/code_object.h"
#include "runtime/hip/cpu/compiler.h"
#include "runtime/hip/cpu/sanitizer.h"
#include "templates/embedded.h"
#include "templates/prelude/cpu_abi.hip"

namespace wavetune::hip::cpu {
namespace {

class CpuProvider : public Provider {
 public:
  explicit CpuProvider(int count) {
    Machine::get().show_devices(count);
    add_device_calls(api_);
    add_memory_calls(api_);
    add_stream_calls(api_);
    add_graph_calls(api_);
    add_module_calls(api_);
    add_rtc_calls(api_);
    for (int i = 0; i < count; ++i) devices_.push_back(describe(i));
    driver_ = fmt::format("wavetune-cpu {}", wt_cpu::abi_version);
    const std::optional<Compiler>& compiler = system_compiler();
    compiler_ = compiler ? compiler->name : "none";
    compiler_version_ = compiler ? compiler->version : "";
    // Times under the sanitizer are no measurements of the same thing.
    if (sanitize_kernels()) compiler_version_ += " -fsanitize=address";
  }

  ProviderKind kind() const override { return ProviderKind::cpu; }

  std::vector<std::string> compile_options(const DeviceInfo& device) const override {
    std::vector<std::string> options{"--offload-arch=" + device.arch};
    // Named here too, so that a cache which knows code objects by source and options keeps the two kinds apart.
    if (sanitize_kernels()) options.emplace_back(sanitize_option);
    return options;
  }

  std::string prelude() const override {
    std::string text;
    for (const char* part : {"cpu_abi", "cpu", "common", "formats", "cpu_memory", "cpu_matrix", "cpu_convert"}) {
      text += templates::embedded_source(fmt::format("templates/prelude/{}.hip", part));
    }
    return text;
  }

 private:
  static DeviceInfo describe(int index) {
    DeviceInfo info;
    info.index = index;
    info.name = cpu_name();
    info.arch = cpu_arch();
    info.cu_count = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    info.memory_bytes = Machine::get().memory_bytes();
    info.limits.arch = info.arch;
    info.limits.wave_size = static_cast<int>(wt_cpu::wave_lanes);
    info.limits.max_block_threads = static_cast<int>(wt_cpu::max_threads);
    info.limits.lds_bytes = static_cast<int>(wt_cpu::lds_limit);
    info.limits.cu_count = info.cu_count;
    return info;
  }
};

}  // namespace

std::shared_ptr<const Provider> make_cpu_provider(int count) {
  if (count < 1 || count > max_devices) {
    fail(ErrorKind::usage, "--device cpu:{} shows {} devices; it takes 1 to {}", count, count, max_devices);
  }
  return std::make_shared<CpuProvider>(count);
}

}  // namespace wavetune::hip::cpu
