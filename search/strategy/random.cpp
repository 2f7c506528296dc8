#include <algorithm>
#include <utility>

#include "search/strategy/candidates.h"
#include "search/strategy/strategy.h"

namespace wavetune::search {
namespace {

/// When the space was enumerated this is also the exhaustive search: every valid configuration comes once.
class RandomStrategy : public Strategy {
 public:
  RandomStrategy(const Space& space, const StrategyOptions& options)
      : candidates_(space, options.seed), first_(options.first.rbegin(), options.first.rend()) {}

  std::string_view name() const override { return "random"; }

  std::optional<Config> ask() override {
    while (!first_.empty()) {
      Config config = std::move(first_.back());
      first_.pop_back();
      if (candidates_.take(config)) return config;
    }
    return candidates_.draw();
  }

  void tell(const Config& config, std::optional<double>) override { candidates_.take(config); }

 private:
  Candidates candidates_;
  std::vector<Config> first_;  ///< last one is proposed first
};

}  // namespace

std::unique_ptr<Strategy> make_random(const Space& space, const StrategyOptions& options) {
  return std::make_unique<RandomStrategy>(space, options);
}

}  // namespace wavetune::search
