// Orders the token-expert pairs of a step by expert, so that each expert's tokens are neighbours.
#pragma once

#include "templates/operator.h"

namespace wavetune::templates {

/// dims m, topk, experts; operands ids i32 [m, topk], order i32 [m*topk], offsets i32 [experts + 1]. order[s] is the
/// pair (token * topk + j) at sorted position s; the pairs of expert e are at positions offsets[e] to offsets[e + 1],
/// in pair order. An id outside [0, experts) counts as the nearest one inside.
const Operator& moe_sort_operator();

}  // namespace wavetune::templates
