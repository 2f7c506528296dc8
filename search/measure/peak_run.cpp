#include "search/measure/peak_run.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "runtime/hip/handles.h"

namespace wavetune::measure {
namespace {

constexpr int repeats = 7;
// GPUs: larger than any cache, since launches are timed on rotated operands. The CPU's kernels find a small model's
// operands in its caches, and the roofline has to be above that: sizes from a second-level cache to memory, the fastest
// counts.
constexpr std::size_t gpu_copy_bytes[] = {std::size_t{1} << 30};
constexpr std::size_t cpu_copy_bytes[] = {std::size_t{256} << 10, std::size_t{1} << 20, std::size_t{4} << 20,
                                          std::size_t{32} << 20};

/// The shortest time of `repeats` runs, after one for warm-up, in microseconds.
double best_us(const hip::Api& api, hipStream_t stream, const std::function<void()>& enqueue) {
  const hip::Event begin = hip::make_event(api);
  const hip::Event end = hip::make_event(api);
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i <= repeats; ++i) {
    hip::check(api, api.hipEventRecord(begin.get(), stream), "hipEventRecord");
    enqueue();
    hip::check(api, api.hipEventRecord(end.get(), stream), "hipEventRecord");
    hip::check(api, api.hipEventSynchronize(end.get()), "hipEventSynchronize");
    float milliseconds = 0;
    hip::check(api, api.hipEventElapsedTime(&milliseconds, begin.get(), end.get()), "hipEventElapsedTime");
    if (i > 0) best = std::min(best, static_cast<double>(milliseconds) * 1e3);
  }
  return std::max(best, 1e-3);
}

}  // namespace

DevicePeak measure_peak(const hip::Provider& provider, int device, std::span<const std::byte> code,
                        const std::vector<PeakKernel>& kernels) {
  const hip::Api& api = provider.api();
  hip::check(api, api.hipSetDevice(device), "hipSetDevice");
  const hip::Stream stream = hip::make_stream(api);
  DevicePeak peak;
  const bool gpu = provider.kind() != hip::ProviderKind::cpu;
  for (const std::size_t bytes :
       gpu ? std::span<const std::size_t>(gpu_copy_bytes) : std::span<const std::size_t>(cpu_copy_bytes)) {
    const hip::DeviceBuffer from(api, bytes);
    const hip::DeviceBuffer to(api, bytes);
    hip::check(api, api.hipMemset(from.get(), 1, bytes), "hipMemset");
    const double us = best_us(api, stream.get(), [&] {
      hip::check(api, api.hipMemcpyAsync(to.get(), from.get(), bytes, hipMemcpyDeviceToDevice, stream.get()),
                 "hipMemcpyAsync");
    });
    peak.bytes_per_us = std::max(peak.bytes_per_us, 2.0 * static_cast<double>(bytes) / us);
  }
  const hip::Module module = hip::load_module(api, code);
  for (const PeakKernel& kernel : kernels) {
    const hipFunction_t function = hip::get_function(api, module, kernel.name);
    const hip::DeviceBuffer sink(api, std::size_t{kernel.blocks} * kernel.threads * sizeof(float));
    std::array<std::byte, sizeof(void*)> params{};
    void* address = sink.get();
    std::memcpy(params.data(), &address, sizeof address);
    const std::array<std::uint32_t, 3> grid{kernel.blocks, 1, 1};
    const std::array<std::uint32_t, 3> block{kernel.threads, 1, 1};
    const double us =
        best_us(api, stream.get(), [&] { hip::launch(api, function, grid, block, 0, stream.get(), params); });
    double& rate = peak.flops_per_us[kernel.dtype];
    rate = std::max(rate, kernel.flops / us);
  }
  return peak;
}

nlohmann::json peak_to_json(const DevicePeak& peak) {
  return {{"bytes_per_us", peak.bytes_per_us}, {"flops_per_us", peak.flops_per_us}};
}

DevicePeak peak_from_json(const nlohmann::json& json) {
  return {json.at("bytes_per_us").get<double>(), json.at("flops_per_us").get<std::map<std::string, double>>()};
}

nlohmann::json peak_kernels_to_json(const std::vector<PeakKernel>& kernels) {
  nlohmann::json list = nlohmann::json::array();
  for (const PeakKernel& kernel : kernels) {
    list.push_back({{"name", kernel.name},
                    {"dtype", kernel.dtype},
                    {"blocks", kernel.blocks},
                    {"threads", kernel.threads},
                    {"flops", kernel.flops}});
  }
  return list;
}

std::vector<PeakKernel> peak_kernels_from_json(const nlohmann::json& json) {
  std::vector<PeakKernel> kernels;
  for (const nlohmann::json& item : json.at("kernels")) {
    kernels.push_back({item.at("name").get<std::string>(), item.at("dtype").get<std::string>(),
                       item.at("blocks").get<std::uint32_t>(), item.at("threads").get<std::uint32_t>(),
                       item.at("flops").get<double>()});
  }
  return kernels;
}

}  // namespace wavetune::measure
