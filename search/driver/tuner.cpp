#include "search/driver/tuner.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "db/base/error.h"
#include "search/driver/device_peaks.h"
#include "search/driver/interrupt.h"
#include "search/driver/roofline.h"
#include "search/driver/shape_tuner.h"
#include "search/driver/summary.h"
#include "search/driver/winner_code.h"

namespace wavetune::search {
namespace {

// Until trials have been timed in this run: what one takes, about.
constexpr double first_guess_of_a_trial_s = 1.0;
// From this part of the weight on, untouched shapes are new ones and not the tail that an earlier run did not reach.
constexpr double new_shapes_share = 0.25;

bool is_collective(const TuneTask& task) { return task.problem.op == "all_reduce"; }

}  // namespace

/// One call of Tuner::run.
class Tuner::Run {
 public:
  Run(const TuneContext& context, std::vector<TuneTask> tasks, Budget budget)
      : context_(context), tasks_(std::move(tasks)), budget_(budget), states_(tasks_.size()) {}

  TuneReport go() {
    int kept = 0;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      states_[i] = shape_state(context_, tasks_[i]);
      touched_before_.push_back(states_[i].trials > 0);
      kept += states_[i].trials;
    }
    if (budget_.spent()) grant_new_shapes();
    context_.reporter.start({static_cast<int>(tasks_.size()), kept, budget_.left_s(), context_.environment.device,
                             context_.database.path().string()});
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (states_[i].finished) report_shape(i, 0);
    }
    // The first pass gives every shape its slice; what they leave over (small spaces) is dealt out again.
    for (std::vector<std::size_t> open = unfinished(); !open.empty() && !over(); open = unfinished()) {
      const std::int64_t before = made_;
      pass(open);
      if (made_ == before) break;
    }
    // Winners of earlier runs, and of databases that were imported: their code may be missing.
    for (std::size_t i = 0; i < tasks_.size() && !InterruptGuard::requested(); ++i) {
      if (states_[i].best_us > 0) keep_winner_code(context_, tasks_[i]);
    }
    return summary();
  }

 private:
  bool over() const { return InterruptGuard::requested() || budget_.spent(); }

  std::vector<std::size_t> unfinished() const {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (states_[i].finished || (only_untouched_ && touched_before_[i])) continue;
      open.push_back(i);
    }
    return open;
  }

  /// Earlier runs spent the budget. When much of what is asked for now was not there then (another tensor-parallel
  /// degree, larger batches), that part gets its share of the budget; a light tail that was not reached is left until
  /// the budget is raised.
  void grant_new_shapes() {
    double all = 0;
    double untouched = 0;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      all += tasks_[i].weight;
      if (states_[i].trials == 0) untouched += tasks_[i].weight;
    }
    if (untouched < new_shapes_share * all) return;
    budget_.grant(budget_.total_s() * untouched / all);
    only_untouched_ = true;
  }

  /// Single devices work side by side; collectives need all of them and come after.
  void pass(const std::vector<std::size_t>& open) {
    std::vector<std::size_t> single;
    std::vector<std::size_t> collective;
    weights_left_ = 0;
    for (std::size_t i : open) {
      (is_collective(tasks_[i]) ? collective : single).push_back(i);
      weights_left_ += tasks_[i].weight;
    }
    shapes_left_ = static_cast<int>(open.size());
    // The CPU provider's devices share the cores: they must not be timed at the same time.
    const std::size_t devices =
        context_.provider.kind() == hip::ProviderKind::cpu ? 1 : context_.provider.devices().size();
    work(single, std::min(devices, single.size()));
    work(collective, std::min<std::size_t>(1, collective.size()));
  }

  void work(const std::vector<std::size_t>& list, std::size_t threads) {
    if (threads == 0) return;
    std::atomic<std::size_t> next = 0;
    std::exception_ptr failure;
    std::mutex failure_mutex;
    const auto serve = [&](int device) {
      try {
        measure::MeasureClient client = make_client(device);
        for (std::size_t at = next++; at < list.size() && !over(); at = next++)
          tune(list[at], client, static_cast<int>(threads));
      } catch (...) {
        const std::lock_guard lock(failure_mutex);
        failure = std::current_exception();
        next = list.size();
      }
    };
    std::vector<std::thread> others;
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back(serve, static_cast<int>(i));
    serve(0);
    for (std::thread& thread : others) thread.join();
    if (failure) std::rethrow_exception(failure);
  }

  measure::MeasureClient make_client(int device) const {
    measure::MeasureClientOptions options;
    options.device = context_.options.device;
    options.index = device;
    options.worker_executable = context_.options.worker_executable;
    options.run_timeout = context_.options.run_timeout;
    return measure::MeasureClient(std::move(options));
  }

  void tune(std::size_t index, measure::MeasureClient& client, int threads) {
    const TuneTask& task = tasks_[index];
    double slice_s = 0;
    double trial_s = 0;
    int floor = 0;
    {
      const std::lock_guard lock(mutex_);
      trial_s = seconds_a_trial() * threads;
      floor = floor_trials(trial_s / threads);
      // Devices that work side by side have their time each.
      slice_s = budget_.slice_s(task.weight, weights_left_, shapes_left_, floor * trial_s / threads) * threads;
      weights_left_ -= task.weight;
      --shapes_left_;
    }
    const int left_to_cap = context_.options.trials - states_[index].trials;
    const int expected =
        budget_.limited() ? std::clamp(static_cast<int>(slice_s / trial_s), 1, std::max(1, left_to_cap)) : left_to_cap;
    const auto begin = Budget::Clock::now();
    const auto enough = [&](int trials) {
      if (budget_.spent()) return true;
      const double used = std::chrono::duration<double>(Budget::Clock::now() - begin).count();
      return used >= slice_s && trials >= floor;
    };
    ShapeState state = states_[index];
    try {
      state = tune_shape(context_, task, client, std::max(expected, floor), enough, [&] { return seconds_left(); });
      keep_winner_code(context_, task);
    } catch (const Error& error) {
      // The reference or the compile service failed for this shape; the others may do better. A failing database ends
      // the run.
      if (error.kind() == ErrorKind::io || error.kind() == ErrorKind::bad_data) throw;
      context_.reporter.warning(fmt::format("{} is left out: {}", task.problem.key(), error.what()));
      state = shape_state(context_, task);
      state.finished = true;
    }
    const std::lock_guard lock(mutex_);
    made_ += state.new_trials;
    states_[index] = state;
    report_shape(index, state.new_trials);
  }

  /// Trials that each shape gets whatever its weight. A short budget lowers it, down to the default configuration
  /// alone: every shape then has a time, and the layout rests on measurements.
  int floor_trials(double trial_s) const {
    const int wanted = std::min(context_.options.floor_trials, context_.options.trials);
    if (!budget_.limited()) return wanted;
    const double affordable = budget_.left_s() / trial_s / std::max(1, shapes_left_);
    return std::clamp(static_cast<int>(affordable), 1, wanted);
  }

  double seconds_a_trial() const {
    const std::int64_t made = context_.reporter.trials();
    if (made == 0) return first_guess_of_a_trial_s;
    return std::chrono::duration<double>(Budget::Clock::now() - begin_).count() / static_cast<double>(made);
  }

  double seconds_left() {
    const std::lock_guard lock(mutex_);
    if (budget_.limited()) return budget_.left_s();
    const std::int64_t made = context_.reporter.trials();
    if (made == 0) return -1;
    std::int64_t missing = 0;
    for (const ShapeState& state : states_) {
      if (!state.finished) missing += std::max(0, context_.options.trials - state.trials);
    }
    // Spaces smaller than the cap make this an upper bound.
    return seconds_a_trial() * static_cast<double>(std::max<std::int64_t>(0, missing - (made - made_)));
  }

  void report_shape(std::size_t index, int new_trials) {
    const TuneTask& task = tasks_[index];
    const ShapeState& state = states_[index];
    context_.reporter.shape({task.problem.key(), state.trials, new_trials, state.finished, state.best_us,
                             roofline_us(task.op->cost(task.problem), context_.peak, task.problem.dtype),
                             db::to_text(state.best)});
  }

  TuneReport summary() const {
    TuneReport report;
    report.interrupted = InterruptGuard::requested();
    report.shapes = static_cast<int>(tasks_.size());
    for (const ShapeState& state : states_) {
      report.finished += state.finished ? 1 : 0;
      report.untouched += state.trials == 0 && !state.finished ? 1 : 0;
    }
    report.trials = made_;
    report.seconds = std::chrono::duration<double>(Budget::Clock::now() - begin_).count();
    return report;
  }

  const TuneContext& context_;
  std::vector<TuneTask> tasks_;
  Budget budget_;
  std::mutex mutex_;  ///< guards what follows while devices work side by side
  std::vector<ShapeState> states_;
  std::vector<bool> touched_before_;  ///< by an earlier run
  bool only_untouched_ = false;
  double weights_left_ = 0;
  int shapes_left_ = 0;
  std::int64_t made_ = 0;
  Budget::Clock::time_point begin_ = Budget::Clock::now();
};

Tuner::Tuner(TunerOptions options, db::Database& database, const hip::Provider& provider)
    : options_(std::move(options)),
      database_(database),
      provider_(provider),
      environment_(hip::environment_of(provider, provider.devices().front())),
      compiler_([&] {
        jit::CompileOptions compile = options_.compile;
        if (compile.worker_executable.empty()) compile.worker_executable = options_.worker_executable;
        return compile;
      }()) {
  if (!options_.kernel_source) options_.kernel_source = templates::kernel_source;
  if (!options_.source_hash) {
    options_.source_hash = [hashes = std::make_shared<std::map<std::string, std::string, std::less<>>>(),
                            mutex = std::make_shared<std::mutex>()](const templates::Operator& op) {
      const std::lock_guard lock(*mutex);
      std::string& hash = (*hashes)[std::string(op.name())];
      if (hash.empty()) hash = templates::source_hash(op);
      return hash;
    };
  }
}

Tuner::~Tuner() = default;

const measure::DevicePeak& Tuner::peak() {
  if (!peak_) {
    measure::MeasureClientOptions options;
    options.device = options_.device;
    options.worker_executable = options_.worker_executable;
    measure::MeasureClient client(std::move(options));
    peak_ = std::make_unique<measure::DevicePeak>(
        device_peaks(provider_, options_.device, compiler_, client, options_.compile.cache_directory));
  }
  return *peak_;
}

std::string Tuner::summary(const std::vector<TuneTask>& tasks, std::size_t most) {
  Reporter quiet(ReportStyle::quiet);
  const TuneContext context{options_, database_, provider_, environment_, compiler_, peak(), quiet};
  return summary_text(summary_rows(context, tasks), most);
}

TuneReport Tuner::run(std::vector<TuneTask> tasks, Reporter& reporter) {
  std::stable_sort(tasks.begin(), tasks.end(),
                   [](const TuneTask& a, const TuneTask& b) { return a.weight > b.weight; });
  std::map<std::string, std::string> keys;  // of the tasks, with the source hash whose trials count
  std::set<std::string_view> ops;
  for (const TuneTask& task : tasks) {
    keys.emplace(task.problem.key(), options_.source_hash(*task.op));
    if (ops.insert(task.op->name()).second)
      database_.set_current_source(task.op->name(), options_.source_hash(*task.op));
  }
  std::vector<std::string> created;
  if (options_.budget_s != Budget::unlimited) {
    db::TrialFilter filter;
    filter.environment = environment_;
    database_.visit_trials(filter, [&](const db::StoredTrial& stored) {
      const auto task = keys.find(stored.trial.problem.key());
      if (task != keys.end() && task->second == stored.trial.source_hash) created.push_back(stored.trial.created_at);
    });
  }
  const TuneContext context{options_, database_, provider_, environment_, compiler_, peak(), reporter};
  return Run(context, std::move(tasks), Budget(options_.budget_s, spent_seconds(created))).go();
}

}  // namespace wavetune::search
