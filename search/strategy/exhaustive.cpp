#include <utility>

#include "search/strategy/seeded_strategy.h"
#include "search/strategy/strategies.h"

namespace wavetune::search {
namespace {

class ExhaustiveStrategy : public SeededStrategy {
 public:
  using SeededStrategy::SeededStrategy;
  std::string_view name() const override { return "exhaustive"; }

 private:
  std::optional<PointId> propose() override {
    while (next_ < space().size()) {
      if (untried().take(next_++)) return next_ - 1;
    }
    return std::nullopt;
  }
  void learn(PointId, const Observation&) override {}

  PointId next_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_exhaustive(std::shared_ptr<const SearchSpace> space, const StrategyOptions& options) {
  return std::make_unique<ExhaustiveStrategy>(std::move(space), options);
}

}  // namespace wavetune::search
