#include "search/driver/shape_tuner.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <future>
#include <utility>

#include "search/driver/interrupt.h"
#include "search/driver/roofline.h"
#include "search/driver/static_check.h"
#include "search/strategy/strategy.h"

namespace wavetune::search {
namespace {

// Winners of the same family at other batch sizes are good guesses, never answers; more than three repeat each other.
constexpr std::size_t most_transferred = 3;

const templates::DeviceLimits& limits_of(const TuneContext& context) {
  return context.provider.devices().front().limits;
}

/// What offline tuning for this architecture left in the database, the default configuration, and the winners of the
/// nearest problems that differ only in growing dimensions.
std::vector<db::Config> first_guesses(const TuneContext& context, const TuneTask& task) {
  std::vector<db::Config> first;
  for (db::OfflineTrial& trial : context.database.shortlist(
           context.environment, task.problem, context.options.source_hash(*task.op), context.options.trials)) {
    first.push_back(std::move(trial.config));
  }
  const std::size_t shortlisted = first.size();
  first.push_back(task.op->default_config(task.problem, limits_of(context)));
  std::vector<std::pair<double, db::Config>> near;
  for (db::Winner& winner : context.database.winners(context.environment, task.problem.op)) {
    if (winner.problem.dtype != task.problem.dtype || winner.problem.dims.size() != task.problem.dims.size()) continue;
    double distance = 0;
    bool same_family = true;
    for (const auto& [name, value] : task.problem.dims) {
      const std::int64_t other = winner.problem.dim_or(name, -1);
      if (other == value) continue;
      same_family = same_family && (name == "m" || name == "context" || name == "slots" || name == "rows");
      distance +=
          std::abs(std::log2(static_cast<double>(std::max<std::int64_t>(1, other)) / static_cast<double>(value)));
    }
    if (same_family && distance > 0) near.emplace_back(distance, std::move(winner.config));
  }
  std::sort(near.begin(), near.end());
  for (auto& [distance, config] : near) {
    if (first.size() > shortlisted + most_transferred) break;
    first.push_back(std::move(config));
  }
  return first;
}

class ShapeRun {
 public:
  ShapeRun(const TuneContext& context, const TuneTask& task, int expected_trials)
      : context_(context),
        task_(task),
        source_hash_(context.options.source_hash(*task.op)),
        default_config_(task.op->default_config(task.problem, limits_of(context))),
        roofline_us_(roofline_us(task.op->cost(task.problem), context.peak, task.problem.dtype)) {
    StrategyOptions options;
    // One seed for all shapes: shapes of one family then start with the same configurations, whose code objects are the
    // same.
    options.seed = context.options.seed;
    options.expected_trials = expected_trials;
    options.first = first_guesses(context, task);
    strategy_ = make_portfolio(task.op->space(task.problem, limits_of(context)), options);
    for (const db::Trial& trial : context.database.trials_of(context.environment, task.problem, source_hash_))
      learn(trial);
    state_.new_trials = 0;
  }

  /// Compiles up to `count` configurations and measures them in the order in which they were proposed. False when the
  /// strategy has nothing left.
  bool batch(measure::MeasureClient& client, int count, const std::function<double()>& seconds_left) {
    struct InFlight {
      db::Config config;
      std::shared_future<jit::CompileResult> compiled;
    };
    std::deque<InFlight> in_flight;
    bool more = true;
    for (int i = 0; i < count; ++i) {
      std::optional<db::Config> config = strategy_->ask();
      more = config.has_value();
      if (!more) break;
      auto future = context_.compiler.submit(request_for(*config));
      in_flight.push_back({std::move(*config), std::move(future)});
    }
    // On the CPU a compile would share the cores with the kernel that is timed, so all are waited for first. On a GPU
    // only the first one is: the others are compiled while it is measured.
    if (context_.provider.kind() == hip::ProviderKind::cpu) {
      for (const InFlight& item : in_flight) item.compiled.wait();
    }
    for (InFlight& item : in_flight) {
      const db::Trial trial = measure(client, std::move(item.config), item.compiled.get());
      context_.database.add_trial(context_.environment, trial);
      learn(trial);
      context_.reporter.trial(trial, state_.best_us, roofline_us_, seconds_left());
    }
    return more;
  }

  ShapeState& state() { return state_; }
  double roofline() const { return roofline_us_; }

 private:
  jit::CompileRequest request_for(const db::Config& config) const {
    return {context_.options.device,
            context_.provider.prelude() + context_.options.kernel_source(*task_.op, task_.problem, config),
            context_.provider.compile_options(context_.provider.devices().front())};
  }

  db::Trial measure(measure::MeasureClient& client, db::Config config, const jit::CompileResult& compiled) {
    db::Trial trial;
    trial.problem = task_.problem;
    trial.config = std::move(config);
    trial.source_hash = source_hash_;
    trial.compile_ms = compiled.milliseconds;
    trial.resources = compiled.resources;
    trial.outcome = compiled.outcome;
    if (compiled.outcome != db::Outcome::ok) {
      trial.error = compiled.log;
      return trial;
    }
    const StaticCheck check =
        check_statically(*task_.op, task_.problem, trial.config, compiled.code, limits_of(context_));
    trial.resources.occupancy = check.occupancy;
    // The default configuration is measured even when it spills: it is what runs where nothing is tuned, and what the
    // others are compared with.
    const bool excused = check.outcome == db::Outcome::pruned && trial.config == default_config_;
    if (check.outcome != db::Outcome::ok && !excused) {
      trial.outcome = check.outcome;
      trial.error = check.reason;
      return trial;
    }
    measure::MeasureRequest request;
    request.problem = task_.problem;
    request.config = trial.config;
    request.code = compiled.code;
    request.incumbent_us = state_.best_us;
    request.timing = context_.options.timing;
    measure::MeasureResult result = client.measure(request);
    trial.outcome = result.outcome;
    trial.median_us = result.median_us;
    trial.samples_us = std::move(result.samples_us);
    trial.max_error = result.max_error;
    trial.error = std::move(result.error);
    if (trial.resources == db::Resources{}) trial.resources = result.resources;
    return trial;
  }

  void learn(const db::Trial& trial) {
    const bool ok = trial.outcome == db::Outcome::ok;
    strategy_->tell(trial.config, ok ? std::optional<double>(trial.median_us) : std::nullopt);
    ++state_.trials;
    ++state_.new_trials;
    if (ok && (state_.best_us <= 0 || trial.median_us < state_.best_us)) {
      state_.best_us = trial.median_us;
      state_.best = trial.config;
    }
  }

  const TuneContext& context_;
  const TuneTask& task_;
  std::string source_hash_;
  db::Config default_config_;
  double roofline_us_;
  std::unique_ptr<Strategy> strategy_;
  ShapeState state_;
};

}  // namespace

ShapeState shape_state(const TuneContext& context, const TuneTask& task) {
  ShapeState state;
  std::vector<std::string> tried;
  for (const db::Trial& trial :
       context.database.trials_of(context.environment, task.problem, context.options.source_hash(*task.op))) {
    ++state.trials;
    tried.push_back(db::to_text(trial.config));
    if (trial.outcome != db::Outcome::ok || (state.best_us > 0 && trial.median_us >= state.best_us)) continue;
    state.best_us = trial.median_us;
    state.best = trial.config;
  }
  state.finished = state.trials >= context.options.trials;
  if (state.finished || tried.empty()) return state;
  // Also finished when every configuration of a small space was tried.
  std::sort(tried.begin(), tried.end());
  const templates::Space space = task.op->space(task.problem, limits_of(context));
  if (space.product_size() > 100'000) return state;
  const std::vector<db::Config> all = space.enumerate();
  state.finished = all.size() <= tried.size() && std::all_of(all.begin(), all.end(), [&](const db::Config& config) {
                     return std::binary_search(tried.begin(), tried.end(), db::to_text(config));
                   });
  return state;
}

ShapeState tune_shape(const TuneContext& context, const TuneTask& task, measure::MeasureClient& client,
                      int expected_trials, const std::function<bool(int trials)>& enough,
                      const std::function<double()>& seconds_left) {
  ShapeRun run(context, task, expected_trials);
  const int cap = context.options.trials;
  // Two for each compile worker: enough to keep them busy, few enough for the strategy to learn.
  const int batch = std::max(2, 2 * context.compiler.workers());
  ShapeState& state = run.state();
  while (!state.finished && !InterruptGuard::requested() && !enough(state.trials)) {
    const int wanted = std::min({batch, cap - state.trials, std::max(1, expected_trials - state.new_trials)});
    if (wanted <= 0 || !run.batch(client, wanted, seconds_left)) state.finished = true;
    if (state.trials >= cap) state.finished = true;
  }
  return state;
}

}  // namespace wavetune::search
