#include "search/driver/nvidia_peaks.h"

#include <algorithm>

#include "templates/embedded.h"

namespace wavetune::search {
namespace {

constexpr double steps = 512;
constexpr std::uint32_t threads = 256;

// Eight independent sums a wave through mma.sync, which every architecture has; where it exists through wgmma too,
// which alone reaches the full rate of sm_90a: two warpgroups, operands of zeros in shared memory (128
// columns: the compiler takes ten times as long over 256).
constexpr const char* source = R"(
extern "C" __global__ __launch_bounds__(256) void mma_bf16(Params p) {
  // Zeros that the compiler does not know of.
  const unsigned zero = gridDim.y - 1;
  const unsigned a[4] = {zero, zero, zero, zero}, b[2] = {zero, zero};
  float d[8][4] = {};
  for (int step = 0; step < 512; ++step) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
          "{%0, %1, %2, %3};"
          : "+f"(d[i][0]), "+f"(d[i][1]), "+f"(d[i][2]), "+f"(d[i][3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) sum += d[i][0];
  p.sink[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
template <bool fp8>
__device__ inline void wgmma_chain(Params p) {
  __shared__ __align__(1024) unsigned operands[(64 + 128) * 32];
  for (int i = threadIdx.x; i < (64 + 128) * 32; i += blockDim.x) operands[i] = 0;
  __syncthreads();
  asm volatile("fence.proxy.async;" : : : "memory");
  const unsigned lds = static_cast<unsigned>(__cvta_generic_to_shared(operands));
  const auto a = wt::wgmma_operand(lds), b = wt::wgmma_operand(lds + 64 * 128);
  float d[64] = {};
  wt::wgmma_fence();
  for (int step = 0; step < 512; ++step) {
    // Several in a group: between groups the compiler puts a fence.
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if constexpr (fp8)
        wt::wgmma<128>::e4m3(d, a + 2 * k, b + 2 * k, 1);
      else
        wt::wgmma<128>::bf16(d, a + 2 * k, b + 2 * k, 1);
    }
    wt::wgmma_commit();
    wt::wgmma_wait<1>();
  }
  wt::wgmma_wait<0>();
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 64; ++i) sum += d[i];
  p.sink[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
extern "C" __global__ __launch_bounds__(256) void wgmma_bf16(Params p) { wgmma_chain<false>(p); }
extern "C" __global__ __launch_bounds__(256) void wgmma_fp8(Params p) { wgmma_chain<true>(p); }
#endif
)";

}  // namespace

std::string nvidia_matrix_source() {
  return std::string(templates::embedded_source("templates/prelude/cuda_wgmma.hip")) + source;
}

std::vector<measure::PeakKernel> nvidia_matrix_kernels(const hip::DeviceInfo& device) {
  constexpr std::uint32_t blocks_per_sm = 16;
  const std::uint32_t blocks = static_cast<std::uint32_t>(std::max(1, device.cu_count)) * blocks_per_sm;
  std::vector<measure::PeakKernel> kernels;
  const double waves = threads / 32.0 * blocks;
  kernels.push_back({"mma_bf16", "bf16", blocks, threads, 2.0 * 16 * 8 * 16 * 8 * steps * waves});
  if (device.arch != "sm_90a") return kernels;
  const double warpgroups = threads / 128.0 * blocks;
  kernels.push_back({"wgmma_bf16", "bf16", blocks, threads, 2.0 * 64 * 128 * 16 * 4 * steps * warpgroups});
  kernels.push_back({"wgmma_fp8", "fp8", blocks, threads, 2.0 * 64 * 128 * 32 * 4 * steps * warpgroups});
  return kernels;
}

}  // namespace wavetune::search
