#include <utility>

#include "search/strategy/seeded_strategy.h"
#include "search/strategy/strategies.h"

namespace wavetune::search {
namespace {

class RandomStrategy : public SeededStrategy {
 public:
  using SeededStrategy::SeededStrategy;
  std::string_view name() const override { return "random"; }

 private:
  std::optional<PointId> propose() override { return untried().draw(); }
  void learn(PointId, const Observation&) override {}
};

}  // namespace

std::unique_ptr<Strategy> make_random(std::shared_ptr<const SearchSpace> space, const StrategyOptions& options) {
  return std::make_unique<RandomStrategy>(std::move(space), options);
}

}  // namespace wavetune::search
