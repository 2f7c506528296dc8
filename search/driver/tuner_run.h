// One run of the tuner: shapes are dealt to devices, turn by turn, until everything is finished or the time is up.
#pragma once

#include <vector>

#include "search/driver/shape_tuner.h"

namespace wavetune::search {

/// `tasks` in order of weight; what Tuner::run says of them.
TuneReport run_tasks(const TuneContext& context, std::vector<TuneTask> tasks, const Budget& budget);

}  // namespace wavetune::search
