// What a search strategy is: it proposes configurations and learns from their times. It knows nothing of compilers,
// devices or databases, so that strategies can be compared on recorded spaces.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "templates/space.h"

namespace wavetune::search {

using templates::Config;
using templates::Space;

/// Several proposals may be in flight: ask() any number of times, tell() in any order. Not thread-safe. The same seed
/// and the same sequence of calls give the same proposals.
class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual std::string_view name() const = 0;
  /// A valid configuration that was neither proposed nor told before; nothing when there is none left.
  virtual std::optional<Config> ask() = 0;
  /// What became of a configuration: its time, or nothing when it failed. Configurations that were never proposed are
  /// welcome (earlier runs): they are learnt from and not proposed again.
  virtual void tell(const Config& config, std::optional<double> time_us) = 0;
};

struct StrategyOptions {
  std::uint64_t seed = 0;
  int expected_trials = 32;  ///< how many proposals the budget will allow, about: sets the cooling schedule
  std::vector<Config> first =
      {};  ///< proposed before anything else (default configuration, winners of neighbouring shapes)
};

/// Valid configurations in a random order.
std::unique_ptr<Strategy> make_random(const Space& space, const StrategyOptions& options);
/// Random start, then simulated annealing over ordinal neighbours, from the best found.
std::unique_ptr<Strategy> make_annealing(const Space& space, const StrategyOptions& options);
/// The default: everything when the space is not larger than the budget, else annealing.
std::unique_ptr<Strategy> make_portfolio(const Space& space, const StrategyOptions& options);

}  // namespace wavetune::search
