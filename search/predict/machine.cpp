#include "search/predict/machine.h"

#include <algorithm>

namespace wavetune::predict {
namespace {

// Data sheet and ISA figures. gfx950: 256 CUs in 8 XCDs, 2.4 GHz peak and about 1.5 GHz sustained under heavy MFMA
// load, MFMA 4096 / 8192 / 16384 flops a clock and CU for bf16 / FP8 / FP4 (LLVM's SISchedule.td: 4 passes of 4 clocks
// for 16x16x32 bf16 and 16x16x128 FP4, 8 for FP8), HBM 8 TB/s, LDS 160 KiB; L2 64 bytes a clock into a CU and LDS 128
// bytes a clock as on CDNA3. The clock is the one at which the tables' kernels come out, as are the rates that HBM and
// the Infinity Cache (peak about 17 TB/s) sustain: see Calibration.
constexpr Machine gfx950 = {"gfx950", 256, 8, 2000, 4096, 8192, 16384, 256, 128, 64, 7.0e6, 17.0e6, 163840, 512};
// MI300X: 304 CUs, HBM 5.3 TB/s; no FP4 instructions (weights are widened to bf16). Efficiencies as on gfx950.
constexpr Machine gfx942 = {"gfx942", 304, 8, 2000, 2048, 4096, 2048, 256, 128, 64, 4.6e6, 17.0e6, 65536, 512};

// H200: 132 SMs at up to 1.98 GHz, of which busy kernels keep about 1.75; 989 and 1979 dense TFLOP/s in bf16 and FP8 at
// 1.83 GHz, so 4096 and 8192 flops a clock and SM; FP4 weights are widened to bf16 (or FP8). 4.8 TB/s of HBM3e, of
// which copies sustain 4.3; the 60 MB L2 gives an SM 64 bytes a clock; no cache behind it, so partial sums go through
// L2. 227 KB of shared memory a block, 255 registers a lane.
constexpr Machine sm_90a = {"sm_90a", 132, 1, 1755, 4096, 8192, 4096, 256, 128, 64, 4.3e6, 8.0e6, 232448, 255};

}  // namespace

std::optional<NumberFormat> number_format(std::string_view dtype) {
  if (dtype == "f32") return NumberFormat::f32;
  if (dtype == "bf16" || dtype == "bf16_f32") return NumberFormat::bf16;
  if (dtype == "fp8_token") return NumberFormat::fp8_token;
  if (dtype == "fp8_block") return NumberFormat::fp8_block;
  if (dtype == "mxfp8") return NumberFormat::mxfp8;
  if (dtype == "mxfp4") return NumberFormat::mxfp4;
  if (dtype == "fp8_mxfp4") return NumberFormat::fp8_mxfp4;
  if (dtype == "bf16_mxfp4") return NumberFormat::bf16_mxfp4;
  return std::nullopt;
}

double activation_bytes(NumberFormat format) {
  switch (format) {
    case NumberFormat::f32:
      return 4;
    case NumberFormat::bf16:
    case NumberFormat::bf16_mxfp4:
      return 2;
    case NumberFormat::mxfp8:
      return 1 + 1.0 / 32;
    case NumberFormat::mxfp4:
      return 0.5 + 1.0 / 32;
    case NumberFormat::fp8_token:
    case NumberFormat::fp8_block:
    case NumberFormat::fp8_mxfp4:
      break;
  }
  return 1;
}

double weight_bytes(NumberFormat format) {
  switch (format) {
    case NumberFormat::fp8_mxfp4:
    case NumberFormat::bf16_mxfp4:
      return activation_bytes(NumberFormat::mxfp4);
    default:
      return activation_bytes(format);
  }
}

std::optional<Machine> machine_for(std::string_view arch) {
  if (arch == gfx950.arch) return gfx950;
  if (arch == gfx942.arch) return gfx942;
  if (arch == sm_90a.arch) return sm_90a;
  return std::nullopt;
}

double flops_per_clock(const Machine& machine, NumberFormat format) {
  switch (format) {
    case NumberFormat::f32:
      return machine.vector_flops_per_clock;  // the float32 MFMA has the same rate
    case NumberFormat::bf16:
    case NumberFormat::bf16_mxfp4:
      return machine.mfma_flops_per_clock_bf16;
    case NumberFormat::mxfp4:
      return machine.mfma_flops_per_clock_fp4;
    default:
      return machine.mfma_flops_per_clock_fp8;
  }
}

// Fitted to one half of the rows (by hash of the shape) of the tables of tuned kernels that ROCm/aiter publishes for
// gfx950 (commit e4048607): tests/bench/model_vs_aiter.cpp prints how well they do, on the other half too. What is
// fitted: the ten numbers here, the three of each format below (two for bf16 MoE are borrowed), and clock, HBM and
// Infinity Cache rate of gfx950. The form of the model, and the range of `ragged`, were chosen looking at all rows, so
// the other half is held out from the fit of the numbers only. These rest at the end of the range that was allowed
// them, and say little by themselves: HBM and Infinity Cache rates, reduce_us, bf16's launch_us, the step latency of
// FP8 MoE.
const Calibration& calibration() {
  static constexpr Calibration shared = {
      .cu_overlap = 2.10,
      .memory_overlap = 1.99,
      .epilogue_us = 1.36,
      .fill_us = 0.07,
      .ragged = 0.055,
      .tail = 0.495,
      .drift = 0.288,
      .reduce_us = 4.0,
      .reduce_bytes_per_us = 4.96e6,
      .moe_output_passes = 2.32,
  };
  return shared;
}

const FormatCalibration& dense_calibration(NumberFormat format) {
  // The latency of a step is that of the whole loop of a lone block divided by its steps: kernels that pipeline deeper
  // have less of it. Block-scaled FP8 reaches half of the MFMA rate: its sums are scaled by the vector unit. Published
  // bf16 kernels start fastest, FP8 block-scaled ones (CK) slowest.
  static constexpr FormatCalibration bf16 = {0.785, 0.2006, 1.50};
  static constexpr FormatCalibration fp8_token = {0.804, 0.0475, 2.95};
  static constexpr FormatCalibration fp8_block = {0.517, 0.1661, 4.72};
  static constexpr FormatCalibration mxfp4 = {0.971, 0.2683, 3.88};
  switch (format) {
    case NumberFormat::fp8_token:
    case NumberFormat::mxfp8:
    case NumberFormat::fp8_mxfp4:
      return fp8_token;
    case NumberFormat::fp8_block:
      return fp8_block;
    case NumberFormat::mxfp4:
      return mxfp4;
    default:
      return bf16;
  }
}

const FormatCalibration& grouped_calibration(NumberFormat format) {
  static constexpr FormatCalibration fp4 = {0.392, 0.2412, 7.21};
  static constexpr FormatCalibration fp8 = {0.379, 0.030, 7.21};
  // No bf16 MoE is published: the efficiency of the gathering kernels with the latency of dense bf16.
  static constexpr FormatCalibration bf16 = {0.39, 0.2006, 7.21};
  switch (format) {
    case NumberFormat::mxfp4:
      return fp4;
    case NumberFormat::f32:
    case NumberFormat::bf16:
    case NumberFormat::bf16_mxfp4:
      return bf16;
    default:
      return fp8;
  }
}

}  // namespace wavetune::predict
