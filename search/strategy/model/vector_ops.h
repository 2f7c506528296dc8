// The two loops in which the model spends its time, compiled for several generations of processors.
#pragma once

#include <span>

namespace wavetune::search {

/// y -= factor * x. Of equal length.
void subtract_scaled(std::span<float> y, float factor, std::span<const float> x);
/// x /= divisor, then y -= x * x. Of equal length.
void divide_and_subtract_squares(std::span<float> x, float divisor, std::span<float> y);

}  // namespace wavetune::search
