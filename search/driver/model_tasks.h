// The shapes of a model that are worth tuning: the union over the candidate layouts.
#pragma once

#include <string>
#include <vector>

#include "search/driver/task.h"
#include "search/layout/candidate_layouts.h"
#include "search/measure/peak_run.h"

namespace wavetune::search {

/// What a launch costs beyond its roofline, about, on any device: keeps the many small operators of a step from
/// weighing nothing.
inline constexpr double launch_us = 2;

/// Every distinct problem of every step of every layout that has a program. A problem's weight is the sum, over the
/// steps it occurs in, of its share of the step's time at the roofline (with a constant for each launch), so that a
/// decode step of one sequence counts as much as a prefill chunk.
std::vector<TuneTask> model_tasks(const std::vector<CandidateLayout>& layouts, const Workload& workload,
                                  const measure::DevicePeak& peak);

/// Keeps the tasks that `names` ask for: an operator ("gemm") or an operator in a format ("gemm_bf16"). Throws Error
/// usage when a name fits no operator of this build, or nothing is left.
std::vector<TuneTask> filter_tasks(std::vector<TuneTask> tasks, const std::vector<std::string>& names);

}  // namespace wavetune::search
