// Rooflines and default configurations: what a report needs and the database does not hold.
#pragma once

#include <vector>

#include "search/driver/task.h"
#include "search/measure/peak_run.h"
#include "search/report/report_data.h"

namespace wavetune::report {

/// During a run: of what is tuned now (`tasks`, which must outlive the result) and of the operators of this build.
FactsOf live_facts(const std::vector<search::TuneTask>& tasks, const measure::DevicePeak& peak,
                   const templates::DeviceLimits& limits);

/// After the fact. Roofline: from the peak rates that an earlier run on this machine measured, when the trials are of
/// this machine's device; else from the architecture's data sheet, when this build has one; else unknown. Kernels that
/// are not of this build have neither.
FactsOf known_facts();

}  // namespace wavetune::report
