#include <algorithm>
#include <utility>

#include "search/strategy/breeding.h"
#include "search/strategy/random_numbers.h"
#include "search/strategy/seeded_strategy.h"
#include "search/strategy/strategies.h"

namespace wavetune::search {
namespace {

// The first descent begins at the best of a few random configurations: from a single one, much of a small budget goes
// into a poor neighbourhood.
constexpr int share_of_budget = 10;
constexpr int fewest_starts = 2;
constexpr int most_starts = 10;
// Restarts alternate between somewhere near the best and somewhere random.
constexpr double near_best_probability = 0.7;
constexpr int fewest_changes = 2;
constexpr int most_changes = 4;

/// Greedy descent: the first better neighbour is moved to, ordinal neighbours are tried before Hamming neighbours, and
/// a configuration without better neighbours ends the descent.
class LocalSearch : public SeededStrategy {
 public:
  LocalSearch(std::shared_ptr<const SearchSpace> space, const StrategyOptions& options)
      : SeededStrategy(std::move(space), options),
        starts_(std::clamp(options.expected_trials / share_of_budget, fewest_starts, most_starts)) {}

  std::string_view name() const override { return "local_search"; }

 private:
  struct Known {
    PointId point;
    double time_us;
  };
  enum class Neighbours { steps, changes, none };

  std::optional<PointId> propose() override {
    if (starts_ > 0 || !current_) {
      --starts_;
      return untried().draw();
    }
    while (true) {
      while (!queue_.empty()) {
        const PointId point = queue_.back();
        queue_.pop_back();
        if (untried().take(point)) return point;
      }
      if (to_queue_ == Neighbours::none) return restart();
      queue_ = to_queue_ == Neighbours::steps ? space().steps(current_->point) : space().changes(current_->point);
      shuffle(queue_, untried().random());
      to_queue_ = to_queue_ == Neighbours::steps ? Neighbours::changes : Neighbours::none;
    }
  }

  /// Until the new start is told, further proposals are random.
  std::optional<PointId> restart() {
    auto& random = untried().random();
    if (!restart_in_flight_ && uniform(random) < near_best_probability) {
      const auto changes = fewest_changes + static_cast<int>(below(random, most_changes - fewest_changes + 1));
      const PointId start = perturbed(space(), best_->point, changes, random);
      if (untried().take(start)) return restart_in_flight_ = start;
    }
    const auto start = untried().draw();
    if (!restart_in_flight_) restart_in_flight_ = start;
    return start;
  }

  void learn(PointId point, const Observation& observation) override {
    const bool restarts = restart_in_flight_ == point;
    if (restarts) restart_in_flight_.reset();
    if (!observation.time_us) return;
    const Known told{point, *observation.time_us};
    if (!best_ || told.time_us < best_->time_us) best_ = told;
    if (!restarts && current_ && told.time_us >= current_->time_us) return;
    current_ = told;
    queue_.clear();
    to_queue_ = Neighbours::steps;
  }

  int starts_;  ///< random ones still to propose
  std::optional<Known> best_;
  std::optional<Known> current_;
  std::vector<PointId> queue_;               ///< neighbours of current_, the last one is proposed first
  Neighbours to_queue_ = Neighbours::steps;  ///< when queue_ is empty
  std::optional<PointId> restart_in_flight_;
};

}  // namespace

std::unique_ptr<Strategy> make_local_search(std::shared_ptr<const SearchSpace> space, const StrategyOptions& options) {
  return std::make_unique<LocalSearch>(std::move(space), options);
}

}  // namespace wavetune::search
