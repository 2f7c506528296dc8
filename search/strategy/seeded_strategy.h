// What all strategies share: the configurations to begin with, and that nothing is proposed twice.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "search/strategy/strategy.h"
#include "search/strategy/untried.h"

namespace wavetune::search {

class SeededStrategy : public Strategy {
 public:
  SeededStrategy(std::shared_ptr<const SearchSpace> space, const StrategyOptions& options)
      : untried_(std::move(space), options.seed), first_(options.first.rbegin(), options.first.rend()) {}

  std::optional<PointId> ask() final {
    while (!first_.empty()) {
      const PointId point = first_.back();
      first_.pop_back();
      if (untried_.take(point)) return point;
    }
    return propose();
  }

  void tell(PointId point, const Observation& observation) final {
    untried_.take(point);
    learn(point, observation);
  }

 protected:
  /// An untried point, taken from untried(); nothing when none is left.
  virtual std::optional<PointId> propose() = 0;
  virtual void learn(PointId point, const Observation& observation) = 0;

  Untried& untried() { return untried_; }
  const Untried& untried() const { return untried_; }
  const SearchSpace& space() const { return untried_.space(); }

 private:
  Untried untried_;
  std::vector<PointId> first_;  ///< the last one is proposed first
};

}  // namespace wavetune::search
