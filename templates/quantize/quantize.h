// From bf16 to the 8 and 4 bit formats that the matrix products take.
#pragma once

#include "templates/operator.h"

namespace wavetune::templates {

/// dims m, k; operands x bf16 [m, k], q [m, k] and scale, by dtype:
///   fp8_block  q fp8, scale f32 [ceil(k / 128), m]: 1x128 groups, scale = amax / 448
///   fp8_token  q fp8, scale f32 [1, m]: a scale for each row
///   mxfp4      q fp4, scale e8m0 [m, k / 32], k a multiple of 32: OCP MX blocks with Quark's "even" scales
/// The arithmetic is that of templates/formats.h, so codes and scales are exactly those of the reference.
const Operator& quantize_operator();

}  // namespace wavetune::templates
