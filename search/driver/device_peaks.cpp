#include "search/driver/device_peaks.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "db/base/error.h"
#include "db/base/file.h"
#include "db/base/hash.h"
#include "runtime/jit/code_cache.h"
#include "search/driver/nvidia_peaks.h"

namespace wavetune::search {
namespace {

// Independent chains of multiply-adds, enough to cover the unit's latency in vector registers: 64 and 128 floats a
// thread are 4 and 8 registers of AVX-512, 8 and 16 of AVX2; on GPUs each is a register. The better one counts.
constexpr const char* fma_source = R"(
struct Params { float* sink; };
template <int width> __device__ inline void fma_chain(Params p) {
  float a[width];
  for (int i = 0; i < width; ++i) a[i] = static_cast<float>(i + threadIdx.x);
  for (int step = 0; step < 2048; ++step) {
    for (int i = 0; i < width; ++i) a[i] = wt::fma(a[i], 0.999f, 0.001f);
  }
  float sum = 0;
  for (int i = 0; i < width; ++i) sum += a[i];
  p.sink[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
extern "C" __global__ __launch_bounds__(64) void fma64(Params p) { fma_chain<64>(p); }
extern "C" __global__ __launch_bounds__(64) void fma128(Params p) { fma_chain<128>(p); }
)";
constexpr double steps = 2048;

// Eight accumulators a wave. Only on AMD GPUs: the CPU's matrix tiles are emulated and say nothing of what it can do,
// NVIDIA's are in nvidia_peaks.cpp.
constexpr const char* matrix_source = R"(
template <class T> __device__ inline void matrix_chain(Params p) {
  using tile = wt::mma16<T>;
  typename tile::ab a{}, b{};
  typename tile::acc c[8] = {};
  for (int step = 0; step < 2048; ++step) {
    for (int i = 0; i < 8; ++i) c[i] = tile::run(a, b, c[i]);
  }
  float sum = 0;
  for (int i = 0; i < 8; ++i) sum += c[i][0];
  p.sink[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
extern "C" __global__ __launch_bounds__(256) void matrix_bf16(Params p) { matrix_chain<wt::bf16>(p); }
extern "C" __global__ __launch_bounds__(256) void matrix_f32(Params p) { matrix_chain<float>(p); }
)";

std::vector<measure::PeakKernel> kernels_for(const hip::DeviceInfo& device, hip::ProviderKind kind) {
  const bool gpu = kind != hip::ProviderKind::cpu;
  // Enough blocks to fill every compute unit several times.
  const std::uint32_t blocks = static_cast<std::uint32_t>(std::max(1, device.cu_count)) * (gpu ? 32 : 4);
  std::vector<measure::PeakKernel> kernels;
  for (const int width : {64, 128}) {
    for (const char* dtype : {"f32", "bf16"}) {
      kernels.push_back({"fma" + std::to_string(width), dtype, blocks, 64, 2.0 * steps * width * 64 * blocks});
    }
  }
  if (!gpu) return kernels;
  if (kind == hip::ProviderKind::cuda) {
    for (measure::PeakKernel& kernel : nvidia_matrix_kernels(device)) kernels.push_back(std::move(kernel));
    return kernels;
  }
  const double waves = 256.0 / device.limits.wave_size * blocks;
  kernels.push_back({"matrix_bf16", "bf16", blocks, 256, 2.0 * 16 * 16 * 16 * 8 * steps * waves});
  kernels.push_back({"matrix_f32", "f32", blocks, 256, 2.0 * 16 * 16 * 4 * 8 * steps * waves});
  return kernels;
}

std::filesystem::path kept_path(const hip::Provider& provider, const std::string& source,
                                std::filesystem::path directory) {
  if (directory.empty()) directory = jit::default_cache_directory();
  const db::Environment e = hip::environment_of(provider, provider.devices().front());
  const std::string text = fmt::format("{}|{}|{}|{}|{}|{}|{}", e.device, e.arch, e.cu_count, e.driver, e.compiler,
                                       e.compiler_version, source);
  return directory / fmt::format("peaks-{}.json", content_hash(text));
}

std::string peak_source(const hip::Provider& provider) {
  const std::string source = provider.prelude() + fma_source;
  switch (provider.kind()) {
    case hip::ProviderKind::amd:
      return source + matrix_source;
    case hip::ProviderKind::cuda:
      return source + nvidia_matrix_source();
    case hip::ProviderKind::cpu:
      return source;
  }
  return source;
}

std::optional<measure::DevicePeak> read_kept(const std::filesystem::path& path) {
  try {
    return measure::peak_from_json(nlohmann::json::parse(read_file(path)));
  } catch (const std::exception&) {
    return std::nullopt;  // absent or damaged: measured again
  }
}

}  // namespace

measure::DevicePeak device_peaks(const hip::Provider& provider, const std::string& device_spec,
                                 jit::CompileService& compiler, measure::MeasureClient& client,
                                 const std::filesystem::path& cache_directory) {
  const hip::DeviceInfo& device = provider.devices().front();
  const std::string source = peak_source(provider);
  const std::filesystem::path path = kept_path(provider, source, cache_directory);
  const jit::CompileResult compiled = compiler.compile({device_spec, source, provider.compile_options(device)});
  if (compiled.outcome != db::Outcome::ok) {
    fail(ErrorKind::device, "cannot compile the peak-rate kernels for {} ({}): {}", device.name,
         db::to_string(compiled.outcome), compiled.log);
  }
  measure::DevicePeak peak = client.peak(compiled.code, kernels_for(device, provider.kind()));
  if (const auto kept = read_kept(path)) {
    peak.bytes_per_us = std::max(peak.bytes_per_us, kept->bytes_per_us);
    for (const auto& [dtype, rate] : kept->flops_per_us)
      peak.flops_per_us[dtype] = std::max(peak.flops_per_us[dtype], rate);
  }
  try {
    write_file_atomic(path, measure::peak_to_json(peak).dump());
  } catch (const Error&) {
    // Not being able to keep it only loses the best of this run.
  }
  return peak;
}

std::optional<measure::DevicePeak> kept_peaks(const hip::Provider& provider,
                                              const std::filesystem::path& cache_directory) {
  return read_kept(kept_path(provider, peak_source(provider), cache_directory));
}

}  // namespace wavetune::search
