#include "search/measure/device_checks.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "templates/embedded.h"

namespace wavetune::measure {
namespace {

// A flag is only ever set, to the same value, so that blocks need no order between them.
constexpr const char* source = R"(
struct alignas(16) Quad { unsigned int w[4]; };
struct DiffersParams { const unsigned char* data; const unsigned char* original; long long bytes; int* flag; };
extern "C" __global__ __launch_bounds__(256) void check_differs(DiffersParams p) {
  const Quad* data = reinterpret_cast<const Quad*>(p.data);
  const Quad* original = reinterpret_cast<const Quad*>(p.original);
  const long long quads = p.bytes / 16;
  const long long step = static_cast<long long>(gridDim.x) * 256;
  unsigned int differs = 0;
  for (long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x; i < quads; i += step) {
    const Quad a = data[i], b = original[i];
    differs |= (a.w[0] ^ b.w[0]) | (a.w[1] ^ b.w[1]) | (a.w[2] ^ b.w[2]) | (a.w[3] ^ b.w[3]);
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    for (long long i = 16 * quads; i < p.bytes; ++i) differs |= p.data[i] ^ p.original[i];
  }
  if (differs != 0) *p.flag = 1;
}
struct BandsParams { const unsigned char* const* begins; long long bytes; int* flags; };
extern "C" __global__ __launch_bounds__(64) void check_bands(BandsParams p) {
  const unsigned char* band = p.begins[blockIdx.x];
  bool differs = false;
  for (long long i = threadIdx.x; i < p.bytes; i += 64) differs = differs || band[i] != 0xFF;
  if (differs) p.flags[blockIdx.x] = 1;
}
struct CompareParams {
  const void* got; const void* expected; long long count; int type; double absolute; double relative; float* worst;
};
extern "C" __global__ __launch_bounds__(256) void check_elements(CompareParams p) {
  __shared__ float waves[256];
  const long long step = static_cast<long long>(gridDim.x) * 256;
  double worst = 0.0;
  for (long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x; i < p.count; i += step) {
    const float got = p.type == 0 ? static_cast<const float*>(p.got)[i]
                                  : wt::to_float(static_cast<const wt::bf16*>(p.got)[i]);
    const float expected = p.type == 0 ? static_cast<const float*>(p.expected)[i]
                                       : wt::to_float(static_cast<const wt::bf16*>(p.expected)[i]);
    if (got == expected) continue;
    const double wanted = expected, difference = got - wanted;
    const double d = (difference < 0 ? -difference : difference) /
                     (p.absolute + p.relative * (wanted < 0 ? -wanted : wanted));
    if (!(d <= worst)) worst = d < 1e30 ? d : static_cast<double>(__builtin_inff());  // also for NaN
  }
  const float of_wave = wt::wave_max(static_cast<float>(worst));
  if (wt::lane() == 0) waves[wt::wave()] = of_wave;
  __syncthreads();
  if (threadIdx.x != 0) return;
  float most = 0.0f;
  for (int i = 0; i < 256 / wt::wave_size; ++i) most = waves[i] > most ? waves[i] : most;
  p.worst[blockIdx.x] = most;
}
)";

struct DiffersParams {
  const void* data;
  const void* original;
  std::int64_t bytes;
  void* flag;
};
struct BandsParams {
  const void* begins;
  std::int64_t bytes;
  void* flags;
};

struct CompareParams {
  const void* got;
  const void* expected;
  std::int64_t count;
  std::int32_t type;
  double absolute, relative;
  void* worst;
};

constexpr std::size_t block_bytes = 256 * 64;  // that one block looks at, about
constexpr std::size_t most_blocks = 4096;
constexpr std::size_t block_elements = 256 * 16, most_compare_blocks = 1024;  // of outputs

template <class Params>
void launch(const hip::Api& api, hipFunction_t function, std::size_t blocks, std::uint32_t threads, hipStream_t stream,
            const Params& params) {
  const std::array<std::uint32_t, 3> grid{static_cast<std::uint32_t>(blocks), 1, 1};
  const std::array<std::uint32_t, 3> block{threads, 1, 1};
  hip::launch(api, function, grid, block, 0, stream, std::as_bytes(std::span(&params, 1)));
}

}  // namespace

std::string device_checks_source() {
  return source + std::string(templates::embedded_source(std::string(templates::reference_file)));
}

DeviceChecks::DeviceChecks(const hip::Api& api, std::span<const std::byte> code)
    : api_(api),
      module_(hip::load_module(api, code)),
      differs_(hip::get_function(api, module_, "check_differs")),
      bands_hold_(hip::get_function(api, module_, "check_bands")),
      elements_(hip::get_function(api, module_, "check_elements")) {}

void DeviceChecks::reserve(std::size_t flags, std::size_t bands) {
  if (flags_.bytes() < flags * sizeof(std::int32_t)) flags_ = hip::DeviceBuffer(api_, flags * sizeof(std::int32_t));
  if (band_begins_.bytes() < bands * sizeof(void*)) band_begins_ = hip::DeviceBuffer(api_, bands * sizeof(void*));
}

std::vector<bool> DeviceChecks::changed(hipStream_t stream, std::span<const Copy> copies, const Bands& bands) {
  const std::size_t count = copies.size() + bands.begins.size();
  reserve(count, bands.begins.size());
  auto* flags = static_cast<std::int32_t*>(flags_.get());
  hip::check(api_, api_.hipMemsetAsync(flags, 0, count * sizeof(std::int32_t), stream), "hipMemsetAsync of flags");
  for (std::size_t i = 0; i < copies.size(); ++i) {
    if (copies[i].bytes == 0) continue;
    const std::size_t blocks = std::clamp<std::size_t>(copies[i].bytes / block_bytes, 1, most_blocks);
    launch(api_, differs_, blocks, 256, stream,
           DiffersParams{copies[i].data, copies[i].original, static_cast<std::int64_t>(copies[i].bytes), flags + i});
  }
  if (!bands.begins.empty()) {
    if (!std::ranges::equal(known_bands_, bands.begins)) {
      known_bands_.assign(bands.begins.begin(), bands.begins.end());
      hip::check(api_,
                 api_.hipMemcpy(band_begins_.get(), known_bands_.data(), known_bands_.size() * sizeof(void*),
                                hipMemcpyHostToDevice),
                 "hipMemcpy of guard bands' places");
    }
    launch(api_, bands_hold_, bands.begins.size(), 64, stream,
           BandsParams{band_begins_.get(), static_cast<std::int64_t>(bands.bytes), flags + copies.size()});
  }
  std::vector<std::int32_t> host(count);
  hip::check(api_, api_.hipMemcpyAsync(host.data(), flags, count * sizeof(std::int32_t), hipMemcpyDeviceToHost, stream),
             "hipMemcpyAsync of flags");
  hip::check(api_, api_.hipStreamSynchronize(stream), "hipStreamSynchronize after the checks");
  std::vector<bool> changed(count);
  for (std::size_t i = 0; i < count; ++i) changed[i] = host[i] != 0;
  return changed;
}

bool DeviceChecks::compares(templates::DType type) {
  return type == templates::DType::f32 || type == templates::DType::bf16;
}

double DeviceChecks::worst(hipStream_t stream, const Elements& elements) {
  if (elements.count == 0) return 0;
  const std::size_t blocks =
      std::clamp<std::size_t>(static_cast<std::size_t>(elements.count) / block_elements, 1, most_compare_blocks);
  if (worst_.bytes() == 0) worst_ = hip::DeviceBuffer(api_, most_compare_blocks * sizeof(float));
  launch(api_, elements_, blocks, 256, stream,
         CompareParams{elements.got, elements.expected, elements.count, elements.type == templates::DType::f32 ? 0 : 1,
                       elements.tolerance.absolute, elements.tolerance.relative, worst_.get()});
  std::vector<float> worst(blocks);
  hip::check(api_,
             api_.hipMemcpyAsync(worst.data(), worst_.get(), blocks * sizeof(float), hipMemcpyDeviceToHost, stream),
             "hipMemcpyAsync of deviations");
  hip::check(api_, api_.hipStreamSynchronize(stream), "hipStreamSynchronize after comparing outputs");
  return *std::ranges::max_element(worst);
}

void DeviceChecks::compute(const templates::Launch& launch) {
  hip::launch(api_, hip::get_function(api_, module_, launch.kernel), launch.grid, launch.block, launch.lds_bytes,
              nullptr, launch.params);
  hip::check(api_, api_.hipStreamSynchronize(nullptr), "hipStreamSynchronize after the reference");
}

}  // namespace wavetune::measure
