// The grouped products of a mixture of experts, and the fused two-stage MoE that the published tables time.
#pragma once

#include "search/predict/gemm_model.h"

namespace wavetune::predict {

/// One product per expert over the rows that were routed to it, uniform routing assumed: rows = tokens * topk.
struct GroupedShape {
  NumberFormat format = NumberFormat::mxfp4;
  double tokens = 1;
  double n = 1, k = 1;
  double experts = 256, topk = 8;  ///< routed
  double shared = 0;               ///< experts that every token visits
  double other_bytes = 0;          ///< activations in and out
};

/// Experts that at least one of `tokens` chooses: E (1 - (1 - topk / E)^tokens).
double active_experts(double experts, double topk, double tokens);

Prediction predict_grouped(const Machine& machine, const GroupedShape& shape, const GemmPlan& plan);
/// Best of a set of tiles up to 128x256 with 1, 2 or 4 waves along k.
BestPlan best_grouped(const Machine& machine, const GroupedShape& shape);

/// Gate and up projection with SwiGLU, then the down projection; routing and sorting are not in it.
struct MoeShape {
  NumberFormat format = NumberFormat::mxfp4;
  double tokens = 1, hidden = 6144, inter = 256;
  double experts = 256, topk = 8, shared = 1;
};

struct MoePrediction {
  BestPlan gate_up, down;
  double us() const { return gate_up.prediction.us + down.prediction.us; }
};
MoePrediction best_moe(const Machine& machine, const MoeShape& shape);

}  // namespace wavetune::predict
