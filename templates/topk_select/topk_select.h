// The cached tokens that attention reads: the best by indexer score, exactly.
#pragma once

#include "templates/operator.h"

namespace wavetune::templates {

/// dims m, context, topk, sequences, pages, page. Operands scores f32 [m, context], positions i32 [m], sequence i32
/// [m], block_table i32 [sequences, pages], indices i32 [m, topk]. Of the logical positions s <= positions[i], the topk
/// with the largest score, the lower s first among equals (all of them when there are no more), listed by ascending s
/// as cache slots block_table[sequence[i]][s / page] * page + s % page, followed by -1. Scores beyond the position are
/// not looked at; NaN is not expected.
const Operator& topk_select_operator();

}  // namespace wavetune::templates
