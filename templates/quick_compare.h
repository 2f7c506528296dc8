// The comparison that most configurations pass, fast: outputs of prefill have millions of elements.
#pragma once

#include <optional>

#include "templates/operator.h"

namespace wavetune::templates {

/// The largest deviation in units of the tolerance, infinite where one of two different values is not finite; nothing
/// for types other than f32 and bf16.
std::optional<double> quick_worst(const HostTensor& got, const HostTensor& expected, const Tolerance& tolerance);

}  // namespace wavetune::templates
