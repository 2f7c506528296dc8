// Launches of grouped_gemm on path `stream` (stream_grouped.hip).
#pragma once

#include "templates/gemm/stream.h"
#include "templates/grouped_gemm/reference.h"

namespace wavetune::templates {

/// Operands in the order of the operator. Throws Error usage for operands that do not begin at multiples of 16 bytes,
/// and for experts whose W has 4 GiB and more.
std::vector<Launch> grouped_stream_launches(const GroupedDims& d, const Config& config, const Call& call);

}  // namespace wavetune::templates
