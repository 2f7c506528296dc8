// The DSA indexer: how much each token wants each cached token.
#pragma once

#include "templates/operator.h"

namespace wavetune::templates {

/// dims m, heads, n (per head), context, slots, sequences, pages, page; scalar scale. Operands q [m, heads*n], w f32
/// [m, heads], cache [slots, n], positions i32 [m], sequence i32 [m], block_table i32 [sequences, pages], scores f32
/// [m, context]. scores[i, s] = scale * sum over h of w[i, h] * relu(q[i, h] . cache[slot of s]) for s <= positions[i],
/// else -inf; the slot of s is block_table[sequence[i]][s / page] * page + s % page. Accumulated in float.
const Operator& indexer_scores_operator();

}  // namespace wavetune::templates
