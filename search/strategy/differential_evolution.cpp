#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "search/strategy/breeding.h"
#include "search/strategy/random_numbers.h"
#include "search/strategy/seeded_strategy.h"
#include "search/strategy/strategies.h"

namespace wavetune::search {
namespace {

// A fifth of the budget makes the first population, so that four generations follow.
constexpr int generations = 5;
constexpr std::size_t smallest_population = 5;
constexpr std::size_t members_per_parameter = 10;
// Differences between members are scaled by a factor drawn anew for each trial point.
constexpr double least_scale = 0.4;
constexpr double most_scale = 1.0;
constexpr double crossover_probability = 0.6;
// Without an improvement of any member in as many generations, all but the best are drawn anew.
constexpr std::size_t patience_in_generations = 3;
// Trial points that were proposed before are common late in a run; then a neighbour is taken.
constexpr int attempts = 8;

/// DE/best/1/bin over the indices of the parameters' values, one trial point at a time: each is compared with the
/// member that it was bred for whenever its time arrives, so that any number may be in flight.
class DifferentialEvolution : public SeededStrategy {
 public:
  DifferentialEvolution(std::shared_ptr<const SearchSpace> given, const StrategyOptions& options)
      : SeededStrategy(std::move(given), options), open_(open_parameters(space())) {
    const auto most = std::max(smallest_population, members_per_parameter * open_.size());
    const auto share = static_cast<std::size_t>(std::max(1, options.expected_trials / generations));
    size_ = std::clamp(share, smallest_population, most);
  }

  std::string_view name() const override { return "differential_evolution"; }

 private:
  struct Member {
    Point point;
    double cost;  ///< time in us; infinite: failed
  };

  std::optional<PointId> propose() override {
    if (drawn_ < size_ || members_.size() < smallest_population) {
      ++drawn_;
      return untried().draw();
    }
    const std::size_t target = next_target_++ % members_.size();
    for (int i = 0; i < attempts; ++i) {
      const PointId trial = bred(target);
      if (untried().take(trial)) return in_flight(trial, target);
      if (const auto near = untried().draw_from(space().steps(trial))) return in_flight(*near, target);
    }
    return untried().draw();
  }

  PointId in_flight(PointId point, std::size_t target) {
    target_of_[point] = target;
    return point;
  }

  PointId bred(std::size_t target) {
    auto& random = untried().random();
    const Point& parent = members_[target].point;
    const Point& one = members_[below(random, members_.size())].point;
    const Point& other = members_[below(random, members_.size())].point;
    const double scale = least_scale + (most_scale - least_scale) * uniform(random);
    Point child = parent;
    const std::size_t always = open_.empty() ? 0 : open_[below(random, open_.size())];
    for (const std::size_t i : open_) {
      if (i != always && uniform(random) >= crossover_probability) continue;
      const double difference = static_cast<double>(one[i]) - static_cast<double>(other[i]);
      const double moved = std::floor(best().point[i] + scale * difference + uniform(random));
      const auto last = static_cast<double>(space().parameters()[i].values.size() - 1);
      child[i] = static_cast<std::uint16_t>(std::clamp(moved, 0.0, last));
    }
    return repaired(space(), std::move(child), parent, random);
  }

  const Member& best() const {
    return *std::min_element(members_.begin(), members_.end(),
                             [](const Member& a, const Member& b) { return a.cost < b.cost; });
  }

  void learn(PointId point, const Observation& observation) override {
    const Member told{space().at(point), observation.time_us.value_or(INFINITY)};
    const auto bred_for = target_of_.find(point);
    if (bred_for == target_of_.end()) {
      enter(told);
      return;
    }
    const std::size_t target = bred_for->second;
    target_of_.erase(bred_for);
    if (target >= members_.size()) {
      enter(told);
    } else if (told.cost <= members_[target].cost && !std::isinf(told.cost)) {
      members_[target] = told;
      without_change_ = 0;
    } else if (++without_change_ > patience_in_generations * size_) {
      start_again();
    }
  }

  /// For points that were bred for nobody: drawn ones, those to begin with, earlier runs'.
  void enter(const Member& told) {
    if (members_.size() < size_) {
      members_.push_back(told);
      return;
    }
    const auto worst = std::max_element(members_.begin(), members_.end(),
                                        [](const Member& a, const Member& b) { return a.cost < b.cost; });
    if (told.cost < worst->cost) *worst = told;
  }

  void start_again() {
    const Member kept = best();
    members_.assign(1, kept);
    target_of_.clear();
    drawn_ = 1;
    without_change_ = 0;
  }

  std::vector<std::size_t> open_;
  std::size_t size_ = 0;
  std::vector<Member> members_;
  std::unordered_map<PointId, std::size_t> target_of_;  ///< of the points in flight: the member that each may replace
  std::size_t drawn_ = 0;
  std::size_t next_target_ = 0;
  std::size_t without_change_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_differential_evolution(std::shared_ptr<const SearchSpace> space,
                                                      const StrategyOptions& options) {
  return std::make_unique<DifferentialEvolution>(std::move(space), options);
}

}  // namespace wavetune::search
