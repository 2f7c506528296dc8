// Tuning without the device: compiles what the analytic model ranks first, leaves out what spills or does not fit, and
// keeps the rest as the shortlist that a node measures first.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "db/database.h"
#include "runtime/jit/compile_service.h"
#include "runtime/jit/target.h"
#include "search/driver/budget.h"
#include "search/driver/reporter.h"
#include "search/driver/task.h"
#include "search/measure/peak_run.h"
#include "search/predict/machine.h"

namespace wavetune::search {

struct OfflineOptions {
  double budget_s = Budget::unlimited;  ///< for all tasks together, earlier runs included (see Budget)
  int shortlist = 12;                   ///< a shape is complete with so many configurations that may be run
  jit::CompileOptions compile;

  /// How sources are made: the templates' own unless a test plants something else.
  std::function<std::string(const templates::Operator&, const db::Problem&, const db::Config&)> kernel_source;
  std::function<std::string(const templates::Operator&)> source_hash;
};

struct OfflineReport {
  bool interrupted = false;
  int shapes = 0;
  int complete = 0;           ///< shapes with a full shortlist, or nothing left to try
  int untouched = 0;          ///< shapes without any configuration that may be run
  std::int64_t compiled = 0;  ///< configurations judged in this run, from the code cache or not
  std::int64_t kept = 0;      ///< of them, those that may be run
  double seconds = 0;
};

struct OfflineRow {
  db::Problem problem;
  int tried = 0, kept = 0;
  double best_us = 0;  ///< predicted; 0: none kept
  double roofline_us = 0;
  db::Config best;
};

/// Everything is stored when its compile ends, so that a run may be killed at any time; what is in flight then is in
/// the code cache at best. Shapes first get two configurations each, then the rest, in order of weight.
class OfflineTuner {
 public:
  /// `database` must outlive the tuner. Throws Error usage when the model knows nothing of target.arch.
  OfflineTuner(OfflineOptions options, db::Database& database, jit::CompileTarget target);

  /// Under which offline trials are stored: architecture and compiler, no device.
  const db::Environment& environment() const { return environment_; }

  /// Ends when all shapes are complete, the budget is spent, or InterruptGuard::requested(). Throws Error when the
  /// database or the compile service fails.
  OfflineReport run(std::vector<TuneTask> tasks, Reporter& reporter);

  /// In order of weight.
  std::vector<OfflineRow> rows(std::vector<TuneTask> tasks) const;

 private:
  class Run;
  OfflineOptions options_;
  db::Database& database_;
  jit::CompileTarget target_;
  predict::Machine machine_;
  db::Environment environment_;
  jit::CompileService compiler_;
};

/// Data sheet peaks of an architecture of predict::machine_for. Throws Error usage for another one.
measure::DevicePeak data_sheet_peak(std::string_view arch);

/// A table of at most `most` rows.
std::string offline_text(const std::vector<OfflineRow>& rows, std::size_t most);

}  // namespace wavetune::search
