// Words of a command line that name a problem and a configuration.
#pragma once

#include <string>
#include <string_view>

#include "templates/operator.h"

namespace wavetune::search {

struct OperatorChoice {
  const templates::Operator* op = nullptr;
  std::string dtype;
};

/// "gemm" with `dtype` "bf16", or "gemm_bf16": the longest operator name that `text` is or begins with, followed by "_"
/// and the number format. Without a format bf16, or the operator's first where it has no bf16. Throws Error usage that
/// lists the operators.
OperatorChoice parse_operator(std::string_view text, std::string_view dtype);

/// "4096x6144x2048" (M x N x K) for gemm; "m=16,n=4096,..." with the operator's own names for all. gemm's batch is 1
/// unless given. Throws Error usage, also for what Operator::check does not accept.
db::Problem parse_problem(const OperatorChoice& choice, std::string_view shape);

/// `base` with the values in `text` ("bm=128,split_k=2"; empty: none). Throws Error usage for a parameter that the
/// space does not have (listing those it has), a value outside of its list (listing it), and a constraint that the
/// result breaks, in its words.
db::Config parse_config(std::string_view text, db::Config base, const templates::Space& space);

}  // namespace wavetune::search
