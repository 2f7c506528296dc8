// Launches of grouped_gemm on path `warpgroup` (warpgroup_grouped.hip).
#pragma once

#include "templates/gemm/warpgroup.h"
#include "templates/grouped_gemm/reference.h"

namespace wavetune::templates {

/// Whether the path can take this: what has_warpgroup says, and no scales of whole rows.
bool grouped_has_warpgroup(const GroupedDims& d, const DeviceLimits& limits);

std::vector<Launch> grouped_warpgroup_launches(const GroupedDims& d, const Config& config, const Call& call);

}  // namespace wavetune::templates
