// The chip as the analytic model sees it: its data sheet, and the few constants that no data sheet gives.
#pragma once

#include <optional>
#include <string_view>

namespace wavetune::predict {

/// How the operands of a matrix product are stored; scales included in the bytes.
enum class NumberFormat {
  f32,
  bf16,
  fp8_token,   ///< e4m3 x e4m3, one scale a row
  fp8_block,   ///< e4m3 x e4m3, scales per 1x128 (A) and 128x128 (W): partial sums are scaled every 128 of k
  mxfp8,       ///< e4m3 x e4m3 with an e8m0 scale for 32 elements
  mxfp4,       ///< e2m1 x e2m1 with an e8m0 scale for 32 elements
  fp8_mxfp4,   ///< e4m3 activations, mxfp4 weights
  bf16_mxfp4,  ///< bf16 activations, mxfp4 weights
};

/// Of a problem's dtype text ("bf16", "bf16_f32", "fp8_block", ...); nothing for formats that the model does not know.
std::optional<NumberFormat> number_format(std::string_view dtype);
/// Bytes of an element of A (activations) and of W (weights), with their part of the scales.
double activation_bytes(NumberFormat format);
double weight_bytes(NumberFormat format);

/// One GPU. Rates are peaks at `clock_mhz`; what kernels reach of them is in Calibration.
struct Machine {
  std::string_view arch;
  int cus = 0;
  int xcds = 0;
  double clock_mhz = 0;  ///< that busy kernels see, between the sustained and the peak clock
  double mfma_flops_per_clock_bf16 = 0, mfma_flops_per_clock_fp8 = 0, mfma_flops_per_clock_fp4 = 0;  ///< of one CU
  double vector_flops_per_clock = 0;  ///< float32 multiply-adds of one CU outside the matrix unit, two flops each
  double lds_bytes_per_clock = 0;     ///< reads of one CU
  double l2_bytes_per_clock = 0;      ///< from L2 into one CU
  double hbm_bytes_per_us = 0;        ///< that streaming kernels reach
  double infinity_cache_bytes_per_us = 0;
  int lds_bytes = 0;
  int vgprs = 512;  ///< of one lane in a SIMD, accumulation registers included
};

/// gfx950 (MI355X), gfx942 (MI300X) and sm_90a (H200); nothing for other architectures.
std::optional<Machine> machine_for(std::string_view arch);

/// MFMA (or, for f32, vector) operations of one CU in a clock, at the rate of the slower operand's format: a product
/// with one FP8 operand runs at the FP8 rate.
double flops_per_clock(const Machine& machine, NumberFormat format);

/// What depends on the number format: how good the published kernels of that format are.
struct FormatCalibration {
  double mfma_efficiency = 1;  ///< of the MFMA peak at Machine::clock_mhz that the inner loop reaches
  double step_latency_us = 0;  ///< of one step of 128 bytes of k with two LDS buffers: what a lone block waits for
  double launch_us = 0;        ///< dispatch, first loads and drain of one launch
};

/// What is the same for all formats.
struct Calibration {
  double cu_overlap = 0;      ///< exponent p with which MFMA, LDS and L2 time of a CU add: (a^p + b^p + ...)^(1/p)
  double memory_overlap = 0;  ///< the same between the CUs, HBM and the Infinity Cache
  double epilogue_us = 0;     ///< store of a 128x128 tile, not hidden behind the loop
  double fill_us = 0;         ///< start of a tile's loop, hidden by the other blocks of the CU
  double ragged = 0;          ///< part of a tile's time that clamped loads and masked stores at an edge add
  double tail = 0;            ///< what a round in which few CUs work costs of a full one (they run at a higher clock)
  double drift = 0;           ///< rounds lost to blocks that drift apart, times log(1 + rounds)
  double reduce_us = 0;       ///< split-K: the second launch
  double reduce_bytes_per_us = 0;  ///< split-K: partial sums out and in
  double moe_output_passes = 0;    ///< MoE: how often the topk outputs of a token cross the memory (write, combine)
};

const Calibration& calibration();
const FormatCalibration& dense_calibration(NumberFormat format);
/// Of grouped (fused MoE) kernels, which gather their rows.
const FormatCalibration& grouped_calibration(NumberFormat format);

}  // namespace wavetune::predict
