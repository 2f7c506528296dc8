#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "search/strategy/candidates.h"
#include "search/strategy/strategy.h"

namespace wavetune::search {
namespace {

// A fifth of the budget, at least four and at most forty trials, goes into a random start: annealing needs a fair point
// to start from, and plain annealing with a random start leads on benchmark_hub's recorded spaces (Kernel Tuner 1.4
// replays).
constexpr double random_share = 0.2;
constexpr int random_at_least = 4;
constexpr int random_at_most = 40;
// Temperatures in units of log(time): at first a configuration 35 % slower is accepted with probability 1/e, at the end
// one that is 1 % slower.
constexpr double first_temperature = 0.3;
constexpr double last_temperature = 0.01;
// One proposal in ten is random, so that a wrong valley is left.
constexpr double jump_probability = 0.1;

class AnnealingStrategy : public Strategy {
 public:
  AnnealingStrategy(const Space& space, const StrategyOptions& options)
      : candidates_(space, options.seed),
        first_(options.first.rbegin(), options.first.rend()),
        expected_(std::max(1, options.expected_trials)),
        random_trials_(std::clamp(static_cast<int>(random_share * expected_), random_at_least, random_at_most)) {}

  std::string_view name() const override { return "annealing"; }

  std::optional<Config> ask() override {
    while (!first_.empty()) {
      Config config = std::move(first_.back());
      first_.pop_back();
      if (candidates_.take(config)) return config;
    }
    ++asked_;
    if (asked_ <= random_trials_ || !current_ || uniform(candidates_.random()) < jump_probability) {
      if (std::optional<Config> config = candidates_.draw()) return config;
    }
    if (std::optional<Config> config = near_current()) return config;
    return candidates_.draw();
  }

  void tell(const Config& config, std::optional<double> time_us) override {
    candidates_.take(config);
    ++told_;
    if (!time_us || !(*time_us > 0)) return;
    const double cost = std::log(*time_us);
    elite_.emplace(cost, config);
    if (!current_ || accept(cost)) {
      current_ = config;
      current_cost_ = cost;
    }
  }

 private:
  /// An untried ordinal neighbour of the current point, else of the best ones, else the current point with two
  /// parameters changed (constraints may tie parameters together, so that no single step is valid).
  std::optional<Config> near_current() {
    if (!current_) return std::nullopt;
    if (auto config = candidates_.draw_from(candidates_.space().neighbours(*current_))) return config;
    int considered = 0;
    for (const auto& [cost, config] : elite_) {
      if (auto next = candidates_.draw_from(candidates_.space().neighbours(config))) return next;
      if (++considered == 8) break;
    }
    return two_changes();
  }

  std::optional<Config> two_changes() {
    const auto& parameters = candidates_.space().parameters();
    for (int attempt = 0; attempt < 200; ++attempt) {
      Config config = elite_.begin()->second;
      for (int change = 0; change < 2; ++change) {
        const auto& parameter = parameters[below(candidates_.random(), parameters.size())];
        config[parameter.name] = parameter.values[below(candidates_.random(), parameter.values.size())];
      }
      if (candidates_.take(config)) return config;
    }
    return std::nullopt;
  }

  bool accept(double cost) {
    if (cost <= current_cost_) return true;
    const double progress = std::min(1.0, static_cast<double>(told_) / expected_);
    const double temperature = first_temperature * std::pow(last_temperature / first_temperature, progress);
    return uniform(candidates_.random()) < std::exp((current_cost_ - cost) / temperature);
  }

  Candidates candidates_;
  std::vector<Config> first_;  ///< last one is proposed first
  int expected_;
  int random_trials_;
  int asked_ = 0;
  int told_ = 0;
  std::optional<Config> current_;
  double current_cost_ = 0;
  std::multimap<double, Config> elite_;  ///< by log(time), best first
};

}  // namespace

std::unique_ptr<Strategy> make_annealing(const Space& space, const StrategyOptions& options) {
  return std::make_unique<AnnealingStrategy>(space, options);
}

std::unique_ptr<Strategy> make_portfolio(const Space& space, const StrategyOptions& options) {
  if (space.product_size() <= Candidates::enumeration_limit &&
      space.enumerate().size() <= static_cast<std::size_t>(std::max(0, options.expected_trials))) {
    return make_random(space, options);
  }
  return make_annealing(space, options);
}

}  // namespace wavetune::search
