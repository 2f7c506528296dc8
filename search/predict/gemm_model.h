// How long a matrix product takes on a GPU: an analytic model in the manner of a roofline with the parts that a
// roofline leaves out. It serves to rank configurations before they are measured and to say what a shape can reach.
#pragma once

#include <string_view>
#include <vector>

#include "search/predict/machine.h"

namespace wavetune::predict {

/// C[m, n] = A[m, k] W[n, k]^T, `batch` times, output bf16.
struct GemmShape {
  NumberFormat format = NumberFormat::bf16;
  double m = 1, n = 1, k = 1;
  double batch = 1;
};

/// How a kernel cuts it up. Defaults are those of the reference kernels that the model was calibrated with.
struct GemmPlan {
  double bm = 128, bn = 128;  ///< tile of a block
  double bk = 0;              ///< elements of k in one step; 0: 128 bytes
  double wm = 2, wn = 2;      ///< waves along M and N
  double wk = 1;              ///< waves along K, whose sums are added at the end
  double split_k = 1;         ///< parts of k, added by a second launch; 0: stream-K
  double stages = 2;          ///< steps in LDS or in flight
  double mfma = 32;           ///< tile of the instruction: 16 or 32
  double group_m = 0;         ///< tile rows walked together; 0: as square as possible
  bool xcd = true;            ///< an XCD gets neighbouring tiles
  bool direct = true;         ///< global memory to LDS without registers
  bool skinny = false;        ///< weights go from memory to registers without LDS
  bool shuffled = true;       ///< weights lie in the order in which they are read
  bool rows_out = true;       ///< the tile is stored in whole rows (through LDS)
  bool vector_unit = false;   ///< multiply-adds of the vector unit, not MFMA
  double registers = 0;       ///< of a lane; 0: estimated from the tile
  double lds_bytes = 0;       ///< of a block; 0: estimated from the tile
  double matrix_share = 0;    ///< of the k loop's issue cycles, read off the compiled code; 0: guessed from the above
  int blocks_per_cu = 0;      ///< as the compiled code allows; 0: estimated from the tile
};

/// Microseconds. `us` is the whole; the parts are what each would take alone.
struct Prediction {
  double us = 0;
  double launch = 0;
  double mfma = 0;     ///< of the busiest CU
  double lds = 0;      ///< of the busiest CU
  double l2 = 0;       ///< from L2 into the busiest CU
  double compute = 0;  ///< of the busiest CU: the three combined, with epilogue, rounds and drift
  double latency = 0;  ///< of the k loop, one after the other on the busiest CU
  double hbm = 0;
  double infinity_cache = 0;  ///< what the XCDs' L2s fetch
  double reduction = 0;       ///< split-K
  double rounds = 0;          ///< tiles (with split-K parts) / CUs
  int blocks_per_cu = 1;
  /// Largest of compute, latency, hbm, infinity_cache, launch: "mfma", "lds", "l2", "latency", ...
  std::string_view bound() const;
};

/// Time of one plan; `us` is infinite when the tile fits neither registers nor LDS.
Prediction predict_gemm(const Machine& machine, const GemmShape& shape, const GemmPlan& plan);

/// The tiles and split-K values that stand for a kernel library: what "best achievable" is taken over.
const std::vector<GemmPlan>& reference_plans();

struct BestPlan {
  GemmPlan plan;
  Prediction prediction;
};
/// Best of reference_plans().
BestPlan best_gemm(const Machine& machine, const GemmShape& shape);

}  // namespace wavetune::predict
