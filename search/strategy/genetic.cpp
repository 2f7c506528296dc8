#include <algorithm>
#include <map>
#include <utility>

#include "search/strategy/breeding.h"
#include "search/strategy/random_numbers.h"
#include "search/strategy/seeded_strategy.h"
#include "search/strategy/strategies.h"

namespace wavetune::search {
namespace {

constexpr int share_of_budget = 4;  // a quarter of the budget makes the first population
constexpr int smallest_population = 6;
constexpr int largest_population = 30;
// The better of this many random members becomes a parent.
constexpr int tournament = 2;
// One proposal in twenty comes from nowhere, so that the population never becomes one family.
constexpr double immigrant_probability = 0.05;
constexpr int attempts = 8;

/// Steady state: the population is the best that were measured, and each proposal is a child of two of them.
class GeneticStrategy : public SeededStrategy {
 public:
  GeneticStrategy(std::shared_ptr<const SearchSpace> given, const StrategyOptions& options)
      : SeededStrategy(std::move(given), options),
        open_(open_parameters(space())),
        size_(static_cast<std::size_t>(
            std::clamp(options.expected_trials / share_of_budget, smallest_population, largest_population))) {}

  std::string_view name() const override { return "genetic"; }

 private:
  std::optional<PointId> propose() override {
    if (drawn_ < size_ || population_.size() < 2 || uniform(untried().random()) < immigrant_probability) {
      ++drawn_;
      return untried().draw();
    }
    for (int i = 0; i < attempts; ++i) {
      const PointId child = bred();
      if (untried().take(child)) return child;
      if (const auto near = untried().draw_from(space().steps(child))) return near;
    }
    return untried().draw();
  }

  PointId bred() {
    auto& random = untried().random();
    const Point mother = space().at(parent());
    const Point father = space().at(parent());
    Point child = mother;
    // Parameters that stand beside each other often belong together (the two sides of a tile), so half of the children
    // inherit runs of them and the other half one by one.
    const bool one_by_one = uniform(random) < 0.5;
    const std::size_t cut = below(random, child.size() + 1);
    for (std::size_t i = 0; i < child.size(); ++i) {
      if (one_by_one ? uniform(random) < 0.5 : i >= cut) child[i] = father[i];
    }
    mutate(child);
    return repaired(space(), std::move(child), mother, random);
  }

  /// One parameter in expectation: half the time by one step of its list, else to any value.
  void mutate(Point& child) {
    auto& random = untried().random();
    for (const std::size_t i : open_) {
      if (uniform(random) * static_cast<double>(open_.size()) >= 1) continue;
      const std::size_t count = space().parameters()[i].values.size();
      if (uniform(random) < 0.5) {
        child[i] = static_cast<std::uint16_t>(below(random, count));
      } else if (uniform(random) < 0.5) {
        if (child[i] + 1U < count) ++child[i];
      } else if (child[i] > 0) {
        --child[i];
      }
    }
  }

  PointId parent() {
    std::size_t rank = population_.size() - 1;
    for (int i = 0; i < tournament; ++i) {
      rank = std::min<std::size_t>(rank, below(untried().random(), population_.size()));
    }
    return std::next(population_.begin(), static_cast<std::ptrdiff_t>(rank))->second;
  }

  void learn(PointId point, const Observation& observation) override {
    if (!observation.time_us) return;
    population_.emplace(*observation.time_us, point);
    if (population_.size() > size_) population_.erase(std::prev(population_.end()));
  }

  std::vector<std::size_t> open_;
  std::size_t size_;
  std::multimap<double, PointId> population_;  ///< by time, best first
  std::size_t drawn_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_genetic(std::shared_ptr<const SearchSpace> space, const StrategyOptions& options) {
  return std::make_unique<GeneticStrategy>(std::move(space), options);
}

}  // namespace wavetune::search
