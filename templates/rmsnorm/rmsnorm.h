// RMS normalisation of rows, with the residual addition before it.
#pragma once

#include "templates/operator.h"

namespace wavetune::templates {

/// dims m, n, residual (0 or 1); scalar eps. residual = 0: operands x [m, n], weight [n], y [m, n]. residual = 1: x,
/// residual [m, n] (inout), weight, y: residual += x, rounded to the dtype, and y is made from it. y = round(x /
/// sqrt(mean(x^2) + eps)) * weight: rounded to the dtype before the weight, as transformers does. y may be x.
const Operator& rmsnorm_operator();

}  // namespace wavetune::templates
