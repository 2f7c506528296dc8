// Trials of one shape as a flow graph: configurations are compiled ahead in parallel while the device measures.
//
//            +-------------------------------- results, in order of proposal ---------------------------------+
//            v                                                                                                 |
//        [ plan ] --> [ compile ] --> [ check ] --> [ order ] --> [ gate ] --------------------> [ measure ] --+
//         serial       unlimited      unlimited     sequencer      serial                    the device's thread
//            +---- "a result was told" ------------------------------^
//
// plan     tells a result (stores it, teaches the strategy), then proposes in its place.
// compile  and check run for all that is in flight, which is at most `depth`.
// order    puts them back into the order of proposal: a slow compile holds up those behind it, not the run of things.
// gate     lets everything through when compiles may overlap with measurements (GPUs). Where they share the cores (CPU)
//          it waits until all of a batch of `depth` are compiled, then lets one after the other through, each when the
//          result before was told: nothing else runs while a kernel is timed.
//
// What is deterministic: results are told in order of proposal, and proposals are made at fixed points between them:
// overlapping, proposal i + depth directly after result i; in batches, the next `depth` after the last result of the
// batch. However long compiles and measurements take, a strategy sees the same sequence of calls, so that a seed and
// the same results give the same proposals. Only what ends a run early (`enough` by the clock, `patience`) depends on
// time, and it cuts the sequence off without changing what came before.
#pragma once

#include <functional>
#include <limits>
#include <optional>

#include "search/driver/device_thread.h"
#include "search/driver/trial_maker.h"

namespace wavetune::search {

/// What is still allowed when a run comes to its end.
enum class Patience {
  go_on,
  finish_measurement,  ///< nothing new begins and compiles are abandoned; the measurement in progress may end
  none,                ///< that one is abandoned too
};

struct PipelineOptions {
  int depth = 4;                               ///< proposals outstanding
  bool batches = false;                        ///< compile and measure by turns
  int most = std::numeric_limits<int>::max();  ///< proposals
  double incumbent_us = 0;                     ///< best time of earlier trials, 0: none
  /// Asked before each proposal (each batch): when true nothing more is proposed, and what is in flight is finished.
  std::function<bool()> enough;
  /// Asked many times a second, by any thread.
  std::function<Patience()> patience;
};

/// Where configurations come from and trials go to. Called by one thread at a time, never at the same time.
struct PipelineEnds {
  std::function<std::optional<db::Config>()> propose;  ///< nothing: none is left
  /// `cost_s`: what the trial took of the wall clock. Overlapping, the time since the result before; in batches, its
  /// part of the batch's compile time and its own measurement. Costs add up to the time the pipeline ran.
  std::function<void(const db::Trial&, double cost_s)> told;
};

struct PipelineReport {
  int told = 0;
  int abandoned = 0;       ///< in flight when patience ended
  bool exhausted = false;  ///< propose() had nothing left
};

/// Runs until nothing is in flight and nothing more is proposed. Rethrows the first exception of a step or an end,
/// after abandoning what was in flight; all that was told before stays told.
PipelineReport run_pipeline(TrialMaker& maker, DeviceThread& device, const PipelineOptions& options,
                            const PipelineEnds& ends);

}  // namespace wavetune::search
