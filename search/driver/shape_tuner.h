// Tunes one shape for a while. Keeps nothing in memory between calls: everything it knows is in the database.
#pragma once

#include <functional>
#include <limits>
#include <string>

#include "search/driver/device_thread.h"
#include "search/driver/pipeline.h"
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

  /// All devices of a run are alike.
  const templates::DeviceLimits& limits() const { return provider.devices().front().limits; }
};

/// For the measuring process of one of the run's devices.
measure::MeasureClientOptions client_options(const TuneContext& context, int device);

struct ShapeState {
  int trials = 0;         ///< in the database
  int new_trials = 0;     ///< made by this call
  bool finished = false;  ///< the cap is reached or nothing is left to try
  double best_us = 0;     ///< 0: nothing ok yet
  db::Config best;
};

/// Looks at the database only.
ShapeState shape_state(const TuneContext& context, const TuneTask& task);

/// Begins to compile what a shape without trials would try first, so that its turn does not begin with waiting.
void compile_ahead(const TuneContext& context, const TuneTask& task);

/// How long a shape is tuned for.
struct Slice {
  int expected_trials = 1;                                     ///< told to the strategy: new trials, about
  double budget_s = 0;                                         ///< told to the strategy: time for them, 0 when unknown
  int most_trials = std::numeric_limits<int>::max();           ///< in the database, those of earlier calls included
  int lanes = 1;                                               ///< that share the compile workers, this one included
  std::function<bool(int trials)> enough;                      ///< asked between trials; `trials` as in ShapeState
  std::function<Patience()> patience;                          ///< see PipelineOptions
  std::function<double()> seconds_left = [] { return -1.0; };  ///< for the progress display
};

/// Goes on until the shape is finished or the slice is over. `client` is used by `device` only.
ShapeState tune_shape(const TuneContext& context, const TuneTask& task, measure::MeasureClient& client,
                      DeviceThread& device, const Slice& slice);

}  // namespace wavetune::search
