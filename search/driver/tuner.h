// The pipeline from shapes to stored measurements: propose, check, compile, verify, time, store, learn.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "db/database.h"
#include "runtime/hip/provider.h"
#include "runtime/jit/compile_service.h"
#include "search/driver/budget.h"
#include "search/driver/reporter.h"
#include "search/driver/task.h"
#include "search/measure/measure_client.h"
#include "search/strategy/strategy.h"

namespace wavetune::search {

struct TunerOptions {
  std::string device;                   ///< device spec; passed on to the worker processes
  double budget_s = Budget::unlimited;  ///< for all tasks together, earlier runs included (see Budget)
  int trials = 32;                      ///< a shape is finished when it has so many, or its space is exhausted
  int floor_trials = 4;                 ///< every shape gets these first, whatever its weight
  int turns_a_device = 0;               ///< shapes tuned side by side on each; 0: what suits the device
  std::uint64_t seed = 1;
  std::string machine;  ///< name of this node in its trials (with the device: machine_name.h); empty: the host's name
  std::string strategy{default_strategy};         ///< one of strategy_names()
  std::optional<measure::TimingLimits> timing;    ///< nothing: what suits the device (default_timing)
  std::chrono::milliseconds run_timeout{20'000};  ///< of one configuration; half of it on a GPU
  jit::CompileOptions compile;
  std::shared_ptr<const std::vector<std::byte>> checks;     ///< measure::device_checks_source(), filled by the tuner
  std::shared_ptr<const measure::ExternalKernel> external;  ///< the kernel of the tasks that this build does not have
  std::filesystem::path worker_executable;                  ///< of compile and measure workers; empty: this executable

  /// How sources are made: the templates' own unless a test plants something else.
  std::function<std::string(const templates::Operator&, const db::Problem&, const db::Config&)> kernel_source;
  std::function<std::string(const templates::Operator&)> source_hash;
};

struct TuneReport {
  bool interrupted = false;
  int shapes = 0;
  int finished = 0;         ///< shapes with nothing left to try within `trials`
  int untouched = 0;        ///< shapes that the budget did not reach
  std::int64_t trials = 0;  ///< made in this run
  double seconds = 0;
  /// Of the devices' time from the first measurement to the last, the part in which they had nothing to do; negative
  /// when nothing was measured.
  double idle_share = -1;
  double preparing_share = 0;  ///< of that: they waited for the data and reference of a problem,
  double trials_share = 0;     ///< for the host's part of trials (loading code, messages, comparing),
  double unasked_share = 0;    ///< and for something to do: for compiled configurations, as a rule
};

class Tuner {
 public:
  /// `database` and `provider` must outlive the tuner.
  Tuner(TunerOptions options, db::Database& database, const hip::Provider& provider);
  ~Tuner();

  const measure::DevicePeak& peak();
  const db::Environment& environment() const { return environment_; }

  /// Tunes what promises most first (task_scheduler.h). Ends when everything is finished, the budget is spent (what is
  /// in flight then is abandoned: it is kept to within a few hundredths of a second), or InterruptGuard::requested()
  /// (the measurement in progress has a moment to end). Every trial that ended is in the database. Throws Error when no
  /// measuring process can be had or the database fails; a shape that cannot be measured at all is a warning.
  TuneReport run(std::vector<TuneTask> tasks, Reporter& reporter);

  struct Comparison {
    TuneTask task;
    std::vector<db::Config> configs;
  };
  /// Tries given configurations instead of searching (compare.h): one shape after the other, on the first device, until
  /// all are done, the budget is spent, or InterruptGuard::requested(). `done` is told the newest trial of each
  /// configuration; winners' code is kept. A shape that cannot be measured is a warning. Throws as run() does.
  void compare(const std::vector<Comparison>& shapes, Reporter& reporter,
               const std::function<void(const Comparison&, const std::vector<db::Trial>&)>& done);

  /// Best against default configuration and roofline, for at most `most` shapes in order of weight.
  std::string summary(const std::vector<TuneTask>& tasks, std::size_t most);

 private:
  void prepare_checks();
  void set_current_sources(const std::vector<const templates::Operator*>& ops);

  TunerOptions options_;
  db::Database& database_;
  const hip::Provider& provider_;
  db::Environment environment_;
  jit::CompileService compiler_;
  std::unique_ptr<measure::DevicePeak> peak_;
  Budget::Clock::time_point begin_ = Budget::Clock::now();  ///< what the budget counts from
};

}  // namespace wavetune::search
