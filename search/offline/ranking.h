// The order in which configurations of a shape are worth trying, by the analytic model alone.
#pragma once

#include <vector>

#include "search/driver/task.h"
#include "search/predict/machine.h"

namespace wavetune::search {

struct RankedConfig {
  db::Config config;
  double predicted_us = 0;  ///< finite
};

/// The whole space is predicted; at most `most` are returned. They come in order of predicted time, except that a tile
/// (bm, bn, bk, waves, path) that was named before is taken for a few per cent slower each time: the model may be wrong
/// about a tile, and variants of one tile are wrong together. Configurations that Operator::estimate shows not to fit
/// on a compute unit are left out. Empty when the model has no valid configuration.
std::vector<RankedConfig> ranked_configs(const predict::Machine& machine, const TuneTask& task,
                                         const templates::DeviceLimits& limits, std::size_t most);

}  // namespace wavetune::search
