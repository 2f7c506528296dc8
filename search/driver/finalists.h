// The end of a shape's turn: the fastest configurations, which single measurements cannot tell apart, are timed in
// turns, and the winner is decided by that.
#pragma once

#include <optional>
#include <vector>

#include "search/driver/shape_tuner.h"

namespace wavetune::search {

/// The fastest of `trials` and those nearly as fast as it, at most a handful, fastest first. One or none: there is
/// nothing to decide.
std::vector<db::Trial> finalists_of(std::vector<db::Trial> trials);

/// Times configurations of `task` that were right alone in turns, and adds the results to the database as newer trials
/// of theirs, in the order given. Nothing when it did not: patience ended, or one of them went wrong.
std::optional<std::vector<db::Trial>> time_in_turns(const TuneContext& context, const TuneTask& task,
                                                    measure::MeasureClient& client, DeviceThread& device,
                                                    const Slice& slice, std::vector<db::Trial> trials);

/// Times the finalists of `task` in turns and adds the results to the database as newer trials of theirs. False when it
/// did not: there are fewer than two, patience ended, or one of them went wrong. `trials`: the newest of each
/// configuration.
bool decide_finalists(const TuneContext& context, const TuneTask& task, measure::MeasureClient& client,
                      DeviceThread& device, const Slice& slice, std::vector<db::Trial> trials);

}  // namespace wavetune::search
