// The activation of a dense SwiGLU block.
#pragma once

#include "templates/operator.h"

namespace wavetune::templates {

/// dims m, n; operands x [m, 2n], y [m, n]. y = silu(x[:, :n]) * x[:, n:].
const Operator& silu_mul_operator();

}  // namespace wavetune::templates
