// Layer normalisation of rows, with the residual addition before it.
#pragma once

#include "templates/operator.h"

namespace wavetune::templates {

/// dims m, n, residual (0 or 1); scalar eps. residual = 0: operands x [m, n], weight [n], bias [n], y [m, n]. residual
/// = 1: x, residual [m, n] (inout), weight, bias, y: residual += x, rounded to the dtype, and y is made from it. y = (x
/// - mean) / sqrt(variance + eps) * weight + bias, variance over n (not n - 1). y may be x.
const Operator& layernorm_operator();

}  // namespace wavetune::templates
