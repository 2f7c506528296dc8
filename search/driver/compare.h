// Trials of given configurations: each checked and timed alone as a tune does it, then all in turns.
#pragma once

#include <vector>

#include "search/driver/shape_tuner.h"

namespace wavetune::search {

/// Adds the trials to the database; gives the newest one of each configuration, in no order. Fewer than `configs` when
/// patience ended. Only those that were right are timed in turns; where that fails (a warning), their trials alone
/// stand.
std::vector<db::Trial> compare_configurations(const TuneContext& context, const TuneTask& task,
                                              const std::vector<db::Config>& configs, measure::MeasureClient& client,
                                              DeviceThread& device, const Slice& slice);

}  // namespace wavetune::search
