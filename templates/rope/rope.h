// Rotary position embedding of interleaved pairs.
#pragma once

#include "templates/operator.h"

namespace wavetune::templates {

/// dims m, heads, n (even, at most 128); scalar theta. Operands x [batch=heads, rows=m, n], positions i32 [m], y like x
/// (may be the same memory). Pair (2i, 2i+1) of token t turns by positions[t] * theta^(-2i/n), computed in float as
/// transformers does.
const Operator& rope_operator();

}  // namespace wavetune::templates
