// grouped_gemm: one GEMM for each expert over token-expert pairs sorted by expert; with SwiGLU (gate and up) or plain
// (down).
#pragma once

#include "templates/operator.h"

namespace wavetune::templates {

const Operator& grouped_gemm_operator();

}  // namespace wavetune::templates
