#include "search/offline/offline_tuner.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <future>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "db/base/error.h"
#include "search/driver/interrupt.h"
#include "search/driver/roofline.h"
#include "search/driver/static_check.h"
#include "search/offline/matrix_share.h"
#include "search/offline/ranking.h"
#include "search/predict/predict_config.h"

namespace wavetune::search {
namespace {

using Clock = std::chrono::steady_clock;

// Configurations that every shape gets before any gets more.
constexpr int first_share = 2;
// A shape for which so many times the shortlist was compiled is left as it is: the model likes what does not fit.
constexpr int tries_per_place = 4;
// One in work, one waiting.
constexpr int requests_a_worker = 2;

predict::Machine machine_or_fail(std::string_view arch) {
  const std::optional<predict::Machine> machine = predict::machine_for(arch);
  if (!machine) fail(ErrorKind::usage, "there is no analytic model of the architecture '{}'", arch);
  return *machine;
}

void by_weight(std::vector<TuneTask>& tasks) {
  std::stable_sort(tasks.begin(), tasks.end(),
                   [](const TuneTask& a, const TuneTask& b) { return a.weight > b.weight; });
}

}  // namespace

/// One call of OfflineTuner::run.
class OfflineTuner::Run {
 public:
  Run(OfflineTuner& tuner, std::vector<TuneTask> tasks, Reporter& reporter)
      : tuner_(tuner), reporter_(reporter), peak_(data_sheet_peak(tuner.target_.arch)), budget_(Budget::unlimited, 0) {
    by_weight(tasks);
    std::map<std::string, std::size_t> by_key;
    for (TuneTask& task : tasks) {
      by_key.emplace(task.problem.key(), shapes_.size());
      shapes_.push_back({std::move(task)});
      shapes_.back().source_hash = tuner_.options_.source_hash(*shapes_.back().task.op);
    }
    std::vector<std::string> created;
    for (const db::OfflineTrial& trial : tuner_.database_.offline_trials(tuner_.environment_)) {
      const auto at = by_key.find(trial.problem.key());
      if (at == by_key.end() || shapes_[at->second].source_hash != trial.source_hash) continue;
      shapes_[at->second].add(trial);
      created.push_back(trial.created_at);
    }
    kept_before_ = static_cast<int>(created.size());
    budget_ = Budget(tuner_.options_.budget_s, spent_seconds(created));
  }

  OfflineReport go() {
    std::set<std::string_view> ops;
    for (const Shape& shape : shapes_) {
      if (ops.insert(shape.task.op->name()).second)
        tuner_.database_.set_current_source(shape.task.op->name(), shape.source_hash);
    }
    Reporter::Start start;
    start.shapes = static_cast<int>(shapes_.size());
    start.trials_kept = kept_before_;
    start.budget_left_s = budget_.left_s();
    start.device = tuner_.target_.arch;
    start.database = tuner_.database_.path().string();
    start.offline = true;
    reporter_.start(start);
    for (Shape& shape : shapes_) {
      if (full(shape, tuner_.options_.shortlist)) finish(shape);
    }
    const auto most_in_flight = static_cast<std::size_t>(requests_a_worker * std::max(1, tuner_.compiler_.workers()));
    while (true) {
      while (!over() && in_flight_.size() < most_in_flight && submit_next()) {
      }
      if (in_flight_.empty()) break;
      const auto ready = next_ready();
      if (ready == in_flight_.end()) break;
      InFlight item = std::move(*ready);
      in_flight_.erase(ready);
      take(std::move(item));
    }
    return report();
  }

 private:
  struct Shape {
    TuneTask task;
    std::string source_hash = {};
    std::set<std::string> tried = {};  ///< texts of configurations, those in flight included
    int judged = 0, kept = 0, in_flight = 0, new_trials = 0;
    double best_us = 0;
    db::Config best = {};
    std::future<std::vector<RankedConfig>> ranking = {};
    std::optional<std::deque<RankedConfig>> candidates = {};  ///< what is left of the ranking, once it is there
    bool finished = false;

    void add(const db::OfflineTrial& trial) {
      tried.insert(db::to_text(trial.config));
      ++judged;
      if (trial.outcome != db::Outcome::ok) return;
      ++kept;
      if (best_us > 0 && trial.predicted_us >= best_us) return;
      best_us = trial.predicted_us;
      best = trial.config;
    }
  };
  struct InFlight {
    std::size_t shape;
    RankedConfig ranked;
    std::shared_future<jit::CompileResult> compiled;
  };

  /// Nothing more is begun: on request, and when what is begun could end after the budget does.
  bool over() const {
    return InterruptGuard::requested() || !budget_.worth_starting() || budget_.left_s() < slowest_compile_s_;
  }

  /// Waits for any compile, not beyond the budget: one that takes its full time-out must hold up neither the others nor
  /// the end of the run. What is given up ends with the compile service, without an outcome.
  std::deque<InFlight>::iterator next_ready() {
    while (true) {
      const auto ready = std::find_if(in_flight_.begin(), in_flight_.end(), [](const InFlight& item) {
        return item.compiled.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
      });
      if (ready != in_flight_.end() || budget_.left_s() <= 0) return ready;
      in_flight_.front().compiled.wait_for(std::chrono::milliseconds(10));
    }
  }

  int most_tries() const { return tries_per_place * tuner_.options_.shortlist; }

  bool full(const Shape& shape, int wanted) const {
    return shape.finished || shape.kept >= wanted || shape.judged >= most_tries();
  }

  /// The next configuration of the first shape that wants one; false when none does (until what is in flight is known).
  bool submit_next() {
    for (const int wanted : {std::min(first_share, tuner_.options_.shortlist), tuner_.options_.shortlist}) {
      for (std::size_t i = 0; i < shapes_.size(); ++i) {
        Shape& shape = shapes_[i];
        if (full(shape, wanted) || shape.kept + shape.in_flight >= wanted ||
            shape.judged + shape.in_flight >= most_tries())
          continue;
        if (over()) return false;  // ranking large spaces takes a while
        if (submit(i)) return true;
      }
    }
    return false;
  }

  /// Going through a large space takes some tenths of a second: begun for shape `index` and some that come after it.
  void rank_ahead(std::size_t index) {
    int begun = 0;
    for (std::size_t i = index; i < shapes_.size() && begun < std::max(1, tuner_.compiler_.workers()); ++i) {
      Shape& shape = shapes_[i];
      if (shape.candidates || (i != index && full(shape, tuner_.options_.shortlist))) continue;
      ++begun;
      if (shape.ranking.valid()) continue;
      shape.ranking = std::async(std::launch::async, [this, &task = shape.task] {
        return ranked_configs(tuner_.machine_, task, tuner_.target_.limits, static_cast<std::size_t>(most_tries()));
      });
    }
  }

  bool submit(std::size_t index) {
    Shape& shape = shapes_[index];
    if (!shape.candidates) {
      rank_ahead(index);
      const std::vector<RankedConfig> ranked = shape.ranking.get();
      shape.candidates.emplace(ranked.begin(), ranked.end());
    }
    while (!shape.candidates->empty()) {
      RankedConfig ranked = std::move(shape.candidates->front());
      shape.candidates->pop_front();
      if (!shape.tried.insert(db::to_text(ranked.config)).second) continue;
      jit::CompileRequest request = {
          tuner_.target_.device,
          tuner_.target_.prelude + tuner_.options_.kernel_source(*shape.task.op, shape.task.problem, ranked.config),
          tuner_.target_.options};
      in_flight_.push_back({index, std::move(ranked), tuner_.compiler_.submit(std::move(request))});
      ++shape.in_flight;
      return true;
    }
    if (shape.in_flight == 0) finish(shape);
    return false;
  }

  void take(InFlight item) {
    Shape& shape = shapes_[item.shape];
    const jit::CompileResult& compiled = item.compiled.get();
    if (!compiled.from_cache) slowest_compile_s_ = std::max(slowest_compile_s_, compiled.milliseconds / 1000);
    const db::OfflineTrial trial = judge(shape, std::move(item.ranked), compiled);
    tuner_.database_.put_offline_trial(tuner_.environment_, trial);
    --shape.in_flight;
    ++shape.new_trials;
    ++made_;
    kept_ += trial.outcome == db::Outcome::ok ? 1 : 0;
    shape.add(trial);
    reporter_.compiled(trial, shape.best_us, roofline(shape), seconds_left());
    const bool exhausted = shape.candidates && shape.candidates->empty() && shape.in_flight == 0;
    if (full(shape, tuner_.options_.shortlist) || exhausted) finish(shape);
  }

  db::OfflineTrial judge(const Shape& shape, RankedConfig ranked, const jit::CompileResult& compiled) const {
    db::OfflineTrial trial;
    trial.problem = shape.task.problem;
    trial.config = std::move(ranked.config);
    trial.source_hash = shape.source_hash;
    trial.predicted_us = ranked.predicted_us;
    trial.compile_ms = compiled.milliseconds;
    trial.resources = compiled.resources;
    trial.outcome = compiled.outcome;
    if (compiled.outcome != db::Outcome::ok) {
      trial.error = compiled.log;
      return trial;
    }
    const StaticCheck check =
        check_statically(*shape.task.op, trial.problem, trial.config, compiled.code, tuner_.target_.limits);
    trial.outcome = check.outcome;
    trial.error = check.reason;
    trial.resources.occupancy = check.occupancy;
    if (check.outcome == db::Outcome::ok && check.occupancy) {
      const predict::CompiledFacts facts{check.occupancy,
                                         matrix_share(*shape.task.op, trial.problem, trial.config, compiled.code)};
      const double us = predict::predicted_us(tuner_.machine_, *shape.task.op, trial.problem, trial.config, facts);
      if (std::isfinite(us)) trial.predicted_us = us;
    }
    return trial;
  }

  double roofline(const Shape& shape) const {
    return roofline_us(shape.task.op->cost(shape.task.problem), peak_, shape.task.problem.dtype);
  }

  void finish(Shape& shape) {
    if (shape.finished) return;
    shape.finished = true;
    reporter_.shape({shape.task.problem.key(), shape.judged, shape.new_trials, true, shape.best_us, roofline(shape),
                     db::to_text(shape.best)});
  }

  /// At the pace so far; never more than the budget.
  double seconds_left() const {
    double missing = 0;
    for (const Shape& shape : shapes_) {
      if (!shape.finished) missing += std::max(0, tuner_.options_.shortlist - shape.kept);
    }
    // A place takes more than one try when configurations are left out.
    const double tries = static_cast<double>(made_) / static_cast<double>(std::max<std::int64_t>(1, kept_));
    const double pace = elapsed() / static_cast<double>(std::max<std::int64_t>(1, made_));
    return std::min(budget_.left_s(), missing * tries * pace);
  }

  double elapsed() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  OfflineReport report() const {
    OfflineReport report;
    report.interrupted = InterruptGuard::requested();
    report.shapes = static_cast<int>(shapes_.size());
    for (const Shape& shape : shapes_) {
      report.complete += shape.finished ? 1 : 0;
      report.untouched += shape.kept == 0 && !shape.finished ? 1 : 0;
    }
    report.compiled = made_;
    report.kept = kept_;
    report.seconds = elapsed();
    return report;
  }

  OfflineTuner& tuner_;
  Reporter& reporter_;
  measure::DevicePeak peak_;
  Budget budget_;
  std::vector<Shape> shapes_;
  std::deque<InFlight> in_flight_;
  int kept_before_ = 0;
  std::int64_t made_ = 0, kept_ = 0;
  double slowest_compile_s_ = 0;  ///< of this run
  Clock::time_point begin_ = Clock::now();
};

OfflineTuner::OfflineTuner(OfflineOptions options, db::Database& database, jit::CompileTarget target)
    : options_(std::move(options)),
      database_(database),
      target_(std::move(target)),
      machine_(machine_or_fail(target_.arch)),
      environment_{std::string(db::offline_device), target_.arch, target_.limits.cu_count, "none", target_.compiler,
                   target_.compiler_version},
      compiler_(options_.compile) {
  if (!options_.kernel_source) options_.kernel_source = templates::kernel_source;
  if (!options_.source_hash) {
    options_.source_hash =
        [hashes = std::make_shared<std::map<std::string, std::string, std::less<>>>()](const templates::Operator& op) {
          std::string& hash = (*hashes)[std::string(op.name())];
          if (hash.empty()) hash = templates::source_hash(op);
          return hash;
        };
  }
}

OfflineReport OfflineTuner::run(std::vector<TuneTask> tasks, Reporter& reporter) {
  return Run(*this, std::move(tasks), reporter).go();
}

std::vector<OfflineRow> OfflineTuner::rows(std::vector<TuneTask> tasks) const {
  by_weight(tasks);
  const measure::DevicePeak peak = data_sheet_peak(target_.arch);
  std::vector<OfflineRow> rows;
  for (const TuneTask& task : tasks) {
    OfflineRow row;
    row.problem = task.problem;
    row.roofline_us = roofline_us(task.op->cost(task.problem), peak, task.problem.dtype);
    for (const db::OfflineTrial& trial :
         database_.offline_trials_of(environment_, task.problem, options_.source_hash(*task.op))) {
      ++row.tried;
      if (trial.outcome != db::Outcome::ok) continue;
      ++row.kept;
      if (row.best_us > 0 && trial.predicted_us >= row.best_us) continue;
      row.best_us = trial.predicted_us;
      row.best = trial.config;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace wavetune::search
