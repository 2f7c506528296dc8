// gemm: C[batch] = A[batch] B[batch]^T with A [m, k], B [n, k], C [m, n]; f32, bf16, or bf16 in and f32 out.
#pragma once

#include "templates/operator.h"

namespace wavetune::templates {

const Operator& gemm_operator();

}  // namespace wavetune::templates
