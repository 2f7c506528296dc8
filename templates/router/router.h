// Chooses the experts of each token: sigmoid scores, bias-corrected top-k, weights from the unbiased scores.
#pragma once

#include "templates/operator.h"

namespace wavetune::templates {

/// dims m, experts, topk, shared; scalars scale, norm (0 or 1). Operands logits f32 [m, experts], bias f32 [experts],
/// ids i32 [m, topk + shared], weights f32 [m, topk + shared]. s = sigmoid(logits); ids = the topk largest of s + bias,
/// in descending order, the lower id first among equals; weights = s[ids], divided by their sum + 1e-20 when norm is 1,
/// times scale. Shared expert j follows as id experts + j with weight 1.
const Operator& router_operator();

}  // namespace wavetune::templates
