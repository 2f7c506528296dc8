// Weighted sum of the experts' outputs of a token.
#pragma once

#include "templates/operator.h"

namespace wavetune::templates {

/// dims m, topk, n; operands y [m*topk, n] in pair order, weights f32 [m, topk], out [m, n].
/// out[i] = sum over j of weights[i, j] * y[i*topk + j], in float, in order of j.
const Operator& moe_combine_operator();

}  // namespace wavetune::templates
