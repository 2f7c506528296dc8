// One block tile on one CU: shared by the dense and the grouped model.
#pragma once

#include "search/predict/gemm_model.h"

namespace wavetune::predict {

struct TileCost {
  bool fits = true;  ///< registers and LDS suffice for one block
  int blocks_per_cu = 1;
  double k_padded = 0;               ///< elements of k that one block works through
  double mfma = 0, lds = 0, l2 = 0;  ///< us of the CU
  double busy = 0;                   ///< the three combined
  double latency = 0;                ///< us that a lone block waits in its k loop
  double epilogue = 0;               ///< us
};

/// `k` is what one block works through: k / split_k, or so.
TileCost tile_cost(const Machine& machine, NumberFormat format, const FormatCalibration& kernel, const GemmPlan& plan,
                   double k);

struct RoundsCost {
  double rounds = 0;   ///< tiles / CUs
  double compute = 0;  ///< us of the busiest CU
  double latency = 0;  ///< us: the k loops that cannot run side by side
  double cu = 0;       ///< both combined
};

/// `tiles` blocks over the CUs, each with the cost `tile`; `ragged` when some of them hang over the edge of C.
RoundsCost rounds_cost(const Machine& machine, const TileCost& tile, double tiles, bool ragged, bool stream_k);

/// (a^p + b^p + ...)^(1/p).
double overlap(double p, std::initializer_list<double> parts);

}  // namespace wavetune::predict
