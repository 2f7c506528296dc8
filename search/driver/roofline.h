// The shortest time that a device's peak rates allow.
#pragma once

#include <string_view>

#include "search/measure/peak_run.h"
#include "templates/operator.h"

namespace wavetune::search {

/// Operations a microsecond in a problem's dtype, as roofline_us takes it; 0 when nothing was measured.
double flops_per_us(const measure::DevicePeak& peak, std::string_view dtype);

/// max(bytes / bandwidth, flops / rate of that number format), in microseconds. `dtype` is a problem's ("bf16_f32"
/// counts as its input format); formats without a rate of their own take float32's.
double roofline_us(const templates::Cost& cost, const measure::DevicePeak& peak, std::string_view dtype);

}  // namespace wavetune::search
