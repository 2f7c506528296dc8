// A configuration of an operator as the analytic model sees it.
#pragma once

#include <optional>

#include "search/predict/gemm_model.h"
#include "templates/operator.h"

namespace wavetune::predict {

/// What the machine code of a configuration says; what is not known is estimated from the configuration.
struct CompiledFacts {
  std::optional<int> waves_per_simd = std::nullopt;
  /// Share of the k loop's issue cycles in which one wave keeps the matrix core busy (isa::IssueCycles, overlapped).
  std::optional<double> matrix_share = std::nullopt;
};

/// Microseconds that `op` with `config` takes on `machine`; infinite when the model says that it cannot run.
///
/// gemm and grouped_gemm in formats that the model knows: predict_gemm and predict_grouped. Every other operator moves
/// data and computes little: its roofline (Operator::cost at HBM's rate and the vector unit's), slowed down when it has
/// too few waves in flight to fill the memory system, and a launch cost for each launch.
double predicted_us(const Machine& machine, const templates::Operator& op, const templates::Problem& problem,
                    const templates::Config& config, const CompiledFacts& facts = {});

/// The model's view of a gemm or grouped_gemm configuration. Parameters that it lacks have the defaults of GemmPlan.
GemmPlan plan_of(const templates::Config& config);

}  // namespace wavetune::predict
