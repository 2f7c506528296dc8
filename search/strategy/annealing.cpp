#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "search/strategy/random_numbers.h"
#include "search/strategy/seeded_strategy.h"
#include "search/strategy/strategies.h"

namespace wavetune::search {
namespace {

// A fifth of the budget, at least four and at most forty trials, goes into a random start: annealing needs a fair point
// to start from.
constexpr double random_share = 0.2;
constexpr int random_at_least = 4;
constexpr int random_at_most = 40;
// Temperatures in units of log(time): at first a configuration 35 % slower is accepted with probability 1/e, at the end
// one that is 1 % slower.
constexpr double first_temperature = 0.3;
constexpr double last_temperature = 0.01;
// One proposal in ten is random, so that a wrong valley is left.
constexpr double jump_probability = 0.1;

class AnnealingStrategy : public SeededStrategy {
 public:
  AnnealingStrategy(std::shared_ptr<const SearchSpace> space, const StrategyOptions& options)
      : SeededStrategy(std::move(space), options),
        expected_(std::max(1, options.expected_trials)),
        budget_s_(options.budget_s),
        random_trials_(std::clamp(static_cast<int>(random_share * expected_), random_at_least, random_at_most)) {}

  std::string_view name() const override { return "annealing"; }

 private:
  std::optional<PointId> propose() override {
    ++asked_;
    if (asked_ <= random_trials_ || !current_ || uniform(untried().random()) < jump_probability) {
      if (const auto point = untried().draw()) return point;
    }
    if (const auto point = near_current()) return point;
    return untried().draw();
  }

  void learn(PointId point, const Observation& observation) override {
    ++told_;
    spent_s_ += observation.cost_s;
    if (!observation.time_us || !(*observation.time_us > 0)) return;
    const double cost = std::log(*observation.time_us);
    elite_.emplace(cost, point);
    if (!current_ || accept(cost)) {
      current_ = point;
      current_cost_ = cost;
    }
  }

  /// An untried ordinal neighbour of the current point, else of the best ones, else the current point with one
  /// parameter changed to any value.
  std::optional<PointId> near_current() {
    if (!current_) return std::nullopt;
    if (const auto point = untried().draw_from(space().steps(*current_))) return point;
    int considered = 0;
    for (const auto& [cost, point] : elite_) {
      if (const auto next = untried().draw_from(space().steps(point))) return next;
      if (++considered == 8) break;
    }
    return untried().draw_from(space().changes(*current_));
  }

  bool accept(double cost) {
    if (cost <= current_cost_) return true;
    const double part = budget_s_ > 0 ? spent_s_ / budget_s_ : static_cast<double>(told_) / expected_;
    const double progress = std::min(1.0, part);
    const double temperature = first_temperature * std::pow(last_temperature / first_temperature, progress);
    return uniform(untried().random()) < std::exp((current_cost_ - cost) / temperature);
  }

  int expected_;
  double budget_s_;
  int random_trials_;
  int asked_ = 0;
  int told_ = 0;
  double spent_s_ = 0;
  std::optional<PointId> current_;
  double current_cost_ = 0;
  std::multimap<double, PointId> elite_;  ///< by log(time), best first
};

}  // namespace

std::unique_ptr<Strategy> make_annealing(std::shared_ptr<const SearchSpace> space, const StrategyOptions& options) {
  return std::make_unique<AnnealingStrategy>(std::move(space), options);
}

}  // namespace wavetune::search
