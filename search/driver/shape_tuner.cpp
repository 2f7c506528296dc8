#include "search/driver/shape_tuner.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "db/base/error.h"
#include "search/driver/compile_request.h"
#include "search/driver/finalists.h"
#include "search/driver/live_trials.h"
#include "search/driver/roofline.h"
#include "search/predict/predict_config.h"
#include "search/space/search_space.h"
#include "search/strategy/strategy.h"

namespace wavetune::search {
namespace {

// Winners of the same family at other batch sizes are good guesses, never answers; more than three repeat each other.
constexpr std::size_t most_transferred = 3;
// Of what was fastest before the templates changed.
constexpr int most_earlier = 2;

/// What was fastest with other sources, what offline tuning for this architecture left in the database, the default
/// configuration, and the winners of the nearest problems that differ only in growing dimensions.
std::vector<db::Config> first_guesses(const TuneContext& context, const TuneTask& task) {
  const std::string sources = context.options.source_hash(*task.op);
  std::vector<db::Config> first =
      context.database.earlier_best(context.environment, task.problem, sources, most_earlier);
  for (db::OfflineTrial& trial :
       context.database.shortlist(context.environment, task.problem, sources, context.options.trials)) {
    first.push_back(std::move(trial.config));
  }
  const std::size_t shortlisted = first.size();
  first.push_back(task.op->default_config(task.problem, context.limits()));
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

// Proposals in flight on a GPU: at most this part of a shape's trials, so that the strategy learns between them even
// where there are more compile workers than trials.
constexpr int learning_steps = 4;
// Results are told in order, so one slow compile holds up all behind it: with many trials to come the workers get more
// to go on with.
constexpr int many_trials = 256, deep = 4;

/// Two for each compile worker: enough to keep them busy. Shapes that are tuned side by side have their parts of them.
int pipeline_depth(const TuneContext& context, const Slice& slice) {
  const int workers = std::max(1, 2 * context.compiler.workers() / std::max(1, slice.lanes));
  if (context.provider.kind() == hip::ProviderKind::cpu) return std::max(2, workers);
  const int most = slice.expected_trials >= many_trials ? deep * workers : workers;
  return std::max(2, std::min(most, slice.expected_trials / learning_steps));
}

std::vector<db::Trial> newest_trials(const TuneContext& context, const TuneTask& task) {
  return context.database.trials_of(context.environment, task.problem, context.options.source_hash(*task.op));
}

/// Without the banned ones, which cannot win.
std::vector<db::Trial> candidates(const TuneContext& context, const TuneTask& task) {
  std::vector<db::Trial> trials = newest_trials(context, task);
  const std::vector<db::Config> banned = context.database.banned(context.environment, task.problem);
  std::erase_if(trials, [&](const db::Trial& trial) {
    return std::find(banned.begin(), banned.end(), trial.config) != banned.end();
  });
  return trials;
}

void keep_best(ShapeState& state, const db::Trial& trial) {
  if (trial.outcome != db::Outcome::ok || (state.best_us > 0 && trial.median_us >= state.best_us)) return;
  state.best_us = trial.median_us;
  state.best = trial.config;
}

/// What the database says: a person may have pinned or banned a configuration.
void take_winner(const TuneContext& context, const TuneTask& task, ShapeState& state) {
  const std::optional<db::Winner> winner = context.database.winner(context.environment, task.problem);
  state.best_us = winner ? winner->median_us : 0;
  state.best = winner ? winner->config : db::Config();
}

/// The ends of one pipeline: the strategy proposes, the database keeps, the strategy learns.
class ShapeRun {
 public:
  ShapeRun(const TuneContext& context, const TuneTask& task, const Slice& slice)
      : context_(context),
        slice_(slice),
        roofline_us_(roofline_us(task.op->cost(task.problem), context.peak, task.problem.dtype)),
        space_(std::make_shared<const SearchSpace>(task.op->space(task.problem, context.limits()))) {
    StrategyOptions options;
    // One seed for all shapes: shapes of one family then start with the same configurations, whose code objects are the
    // same.
    options.seed = context.options.seed;
    options.expected_trials = slice.expected_trials;
    options.budget_s = slice.budget_s;
    for (const db::Config& config : first_guesses(context, task)) {
      if (const auto point = space_->find(config)) options.first.push_back(*point);
    }
    if (const auto machine = predict::machine_for(context.environment.arch)) {
      options.predicted_us = [machine = *machine, op = task.op, problem = task.problem](const db::Config& config) {
        return predict::predicted_us(machine, *op, problem, config);
      };
    }
    strategy_ = make_strategy(context.options.strategy, space_, options);
    for (const db::Trial& trial : newest_trials(context, task)) learn(trial, 0);  // paid for by an earlier slice
    state_.new_trials = 0;
  }

  std::optional<db::Config> propose() {
    const std::optional<PointId> point = strategy_->ask();
    if (!point) return std::nullopt;
    return space_->config(*point);
  }

  void told(const db::Trial& trial, double cost_s) {
    context_.database.add_trial(context_.environment, trial);
    learn(trial, cost_s);
    context_.reporter.trial(trial, state_.best_us, roofline_us_, slice_.seconds_left());
  }

  ShapeState& state() { return state_; }

 private:
  void learn(const db::Trial& trial, double cost_s) {
    const bool ok = trial.outcome == db::Outcome::ok;
    if (const auto point = space_->find(trial.config))
      strategy_->tell(*point, {ok ? std::optional<double>(trial.median_us) : std::nullopt, cost_s});
    ++state_.trials;
    ++state_.new_trials;
    keep_best(state_, trial);
  }

  const TuneContext& context_;
  const Slice& slice_;
  double roofline_us_;
  std::shared_ptr<const SearchSpace> space_;
  std::unique_ptr<Strategy> strategy_;
  ShapeState state_;
};

}  // namespace

measure::MeasureClientOptions client_options(const TuneContext& context, int device) {
  measure::MeasureClientOptions options;
  options.device = context.options.device;
  options.index = device;
  options.external = context.options.external;
  options.checks = context.options.checks;
  options.warn = [&reporter = context.reporter](const std::string& text) { reporter.warning(text); };
  options.worker_executable = context.options.worker_executable;
  options.run_timeout = context.options.run_timeout;
  // The CPU's kernels are slow where a GPU's can only hang.
  if (context.provider.kind() != hip::ProviderKind::cpu) options.run_timeout /= 2;
  return options;
}

ShapeState shape_state(const TuneContext& context, const TuneTask& task) {
  // Asked of every shape before the first is tuned, so the trials themselves are not read.
  ShapeState state;
  take_winner(context, task, state);
  state.trials = static_cast<int>(
      context.database.count_tried(context.environment, task.problem, context.options.source_hash(*task.op)));
  state.finished = state.trials >= context.options.trials;
  if (state.finished || state.trials == 0) return state;
  // Also finished when every configuration of a small space was tried.
  const templates::Space space = task.op->space(task.problem, context.limits());
  if (space.product_size() > 100'000) return state;
  std::vector<std::string> tried;
  for (const db::Trial& trial : newest_trials(context, task)) tried.push_back(db::to_text(trial.config));
  std::sort(tried.begin(), tried.end());
  const std::vector<db::Config> all = space.enumerate();
  state.finished = all.size() <= tried.size() && std::all_of(all.begin(), all.end(), [&](const db::Config& config) {
                     return std::binary_search(tried.begin(), tried.end(), db::to_text(config));
                   });
  return state;
}

void compile_ahead(const TuneContext& context, const TuneTask& task) {
  // The result comes from the code cache when it is asked for, or is shared when it is still being made.
  try {
    context.compiler.submit(compile_request(context, task, first_guesses(context, task).front()));
  } catch (const Error&) {
    // It will happen again when it is the shape's turn, and is dealt with there.
  }
}

ShapeState tune_shape(const TuneContext& context, const TuneTask& task, measure::MeasureClient& client,
                      DeviceThread& device, const Slice& slice) {
  ShapeRun run(context, task, slice);
  ShapeState& state = run.state();
  const int cap = context.options.trials;
  PipelineOptions options;
  options.depth = pipeline_depth(context, slice);
  options.batches = context.provider.kind() == hip::ProviderKind::cpu;
  options.most = std::max(0, std::min(cap, slice.most_trials) - state.trials);
  options.incumbent_us = state.best_us;
  options.enough = [&] { return slice.enough && slice.enough(state.trials); };
  options.patience = slice.patience;
  LiveTrials maker(context, task, client);
  const PipelineReport report = run_pipeline(
      maker, device, options,
      {[&] { return run.propose(); }, [&](const db::Trial& trial, double cost_s) { run.told(trial, cost_s); }});
  if (state.new_trials > 0) {
    // The comparison overrules what each of them took alone.
    decide_finalists(context, task, client, device, slice, candidates(context, task));
  }
  take_winner(context, task, state);
  state.finished = report.exhausted || state.trials >= cap;
  return state;
}

}  // namespace wavetune::search
