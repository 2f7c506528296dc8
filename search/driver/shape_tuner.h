// Tunes one shape for a while. Keeps nothing in memory between calls: everything it knows is in the database.
#pragma once

#include <functional>
#include <string>

#include "search/driver/tuner.h"

namespace wavetune::search {

/// What all shapes of a run share.
struct TuneContext {
  const TunerOptions& options;
  db::Database& database;
  const hip::Provider& provider;
  const db::Environment& environment;
  jit::CompileService& compiler;
  const measure::DevicePeak& peak;
  Reporter& reporter;
};

struct ShapeState {
  int trials = 0;         ///< in the database
  int new_trials = 0;     ///< made by this call
  bool finished = false;  ///< the cap is reached or nothing is left to try
  double best_us = 0;     ///< 0: nothing ok yet
  db::Config best;
};

/// Looks at the database only.
ShapeState shape_state(const TuneContext& context, const TuneTask& task);

/// Goes on until the shape is finished or `enough(trials)` says so; that is asked between batches. `expected_trials`
/// tells the strategy how long the search will be, about; `seconds_left` is for the progress display.
ShapeState tune_shape(const TuneContext& context, const TuneTask& task, measure::MeasureClient& client,
                      int expected_trials, const std::function<bool(int trials)>& enough,
                      const std::function<double()>& seconds_left);

}  // namespace wavetune::search
