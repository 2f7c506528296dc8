#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "search/strategy/breeding.h"
#include "search/strategy/extra_trees.h"
#include "search/strategy/random_numbers.h"
#include "search/strategy/seeded_strategy.h"
#include "search/strategy/strategies.h"

namespace wavetune::search {
namespace {

// A tenth of the budget is random, so that the first forest has seen something.
constexpr int share_of_budget = 10;
constexpr int fewest_random = 4;
constexpr int most_random = 30;
// Up to this many results the forest is grown anew for each, afterwards when a twentieth more is known.
constexpr std::size_t always_refit = 40;
constexpr std::size_t refit_share = 20;
// Samples that a forest is grown from at most: the best of all, and a random choice of the others. It keeps a
// proposal below a millisecond however long the run.
constexpr std::size_t most_samples = 300;
constexpr std::size_t best_samples = 150;
// Configurations that the forest is asked about: neighbours of the best, and random ones.
constexpr std::size_t elites = 5;
constexpr int random_candidates = 300;
// The lower confidence bound, in deviations between the trees.
constexpr double confidence = 1.0;
// Failed configurations count as this much slower (in log(time)) than the slowest that worked.
constexpr double failed_beyond_worst = 0.5;

/// Proposes what a forest of random trees, fitted to log(time), takes for best when it is optimistic.
class SurrogateStrategy : public SeededStrategy {
 public:
  SurrogateStrategy(std::shared_ptr<const SearchSpace> given, const StrategyOptions& options)
      : SeededStrategy(std::move(given), options),
        open_(open_parameters(space())),
        random_left_(std::clamp(options.expected_trials / share_of_budget, fewest_random, most_random)) {}

  std::string_view name() const override { return "surrogate"; }

 private:
  struct Result {
    PointId id;
    Point point;
    double cost;  ///< log(time); infinite: failed
  };
  struct Candidate {
    PointId id;
    double bound;
  };

  std::optional<PointId> propose() override {
    if (random_left_ > 0 || elites_.empty()) {
      --random_left_;
      return untried().draw();
    }
    if (news_) refit();
    if (news_ || candidates_.empty()) weigh_candidates();
    news_ = false;
    // Without news since the last proposal, the next best of the same candidates.
    while (!candidates_.empty()) {
      std::pop_heap(candidates_.begin(), candidates_.end(), later);
      const PointId id = candidates_.back().id;
      candidates_.pop_back();
      if (untried().take(id)) return id;
    }
    return untried().draw();
  }

  static bool later(const Candidate& a, const Candidate& b) { return a.bound > b.bound; }

  void weigh_candidates() {
    candidates_.clear();
    for (const std::size_t elite : elites_) {
      for (const PointId id : space().changes(results_[elite].id)) weigh(id);
    }
    for (int i = 0; i < random_candidates; ++i) weigh(space().draw(untried().random()));
    std::make_heap(candidates_.begin(), candidates_.end(), later);
  }

  void weigh(PointId id) {
    if (!untried().contains(id)) return;
    const auto [mean, deviation] = forest_.estimate(space().at(id));
    candidates_.push_back({id, mean - confidence * deviation});
  }

  void refit() {
    const std::size_t count = results_.size();
    if (count > always_refit && count < fitted_to_ + fitted_to_ / refit_share) return;
    fitted_to_ = count;
    std::vector<std::size_t> chosen(count);
    std::iota(chosen.begin(), chosen.end(), std::size_t{0});
    if (count > most_samples) {
      std::nth_element(chosen.begin(), chosen.begin() + best_samples, chosen.end(),
                       [this](std::size_t a, std::size_t b) {
                         return std::pair(results_[a].cost, a) < std::pair(results_[b].cost, b);
                       });
      for (std::size_t i = best_samples; i < most_samples; ++i) {
        std::swap(chosen[i], chosen[i + below(untried().random(), count - i)]);
      }
      chosen.resize(most_samples);
    }
    std::vector<Point> points;
    std::vector<double> costs;
    for (const std::size_t i : chosen) {
      points.push_back(results_[i].point);
      costs.push_back(std::isinf(results_[i].cost) ? worst_ + failed_beyond_worst : results_[i].cost);
    }
    forest_.fit(open_, points, costs, untried().random());
  }

  void learn(PointId id, const Observation& observation) override {
    news_ = true;
    const bool worked = observation.time_us && *observation.time_us > 0;
    const double cost = worked ? std::log(*observation.time_us) : INFINITY;
    results_.push_back({id, space().at(id), cost});
    if (!worked) return;
    worst_ = std::max(worst_, cost);
    const auto place =
        std::find_if(elites_.begin(), elites_.end(), [&](std::size_t elite) { return results_[elite].cost > cost; });
    elites_.insert(place, results_.size() - 1);
    if (elites_.size() > elites) elites_.pop_back();
  }

  std::vector<std::size_t> open_;
  int random_left_;
  std::vector<Result> results_;
  std::vector<std::size_t> elites_;  ///< into results_, best first
  double worst_ = -INFINITY;
  ExtraTrees forest_;
  std::size_t fitted_to_ = 0;
  bool news_ = false;  ///< since the candidates were weighed
  std::vector<Candidate> candidates_;
};

}  // namespace

std::unique_ptr<Strategy> make_surrogate(std::shared_ptr<const SearchSpace> space, const StrategyOptions& options) {
  return std::make_unique<SurrogateStrategy>(std::move(space), options);
}

}  // namespace wavetune::search
