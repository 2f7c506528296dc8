// What a search strategy is: it proposes configurations and learns from their times. It knows nothing of compilers,
// devices or databases, so that strategies can be compared on recorded spaces.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "search/space/search_space.h"

namespace wavetune::search {

/// What became of a configuration.
struct Observation {
  std::optional<double> time_us;  ///< nothing: it failed
  double cost_s = 0;              ///< what the trial took of the budget
};

/// Several proposals may be in flight: ask() any number of times, tell() in any order. Not thread-safe. The same seed
/// and the same sequence of calls give the same proposals.
class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual std::string_view name() const = 0;
  /// A configuration that was neither proposed nor told before; nothing when there is none left.
  virtual std::optional<PointId> ask() = 0;
  /// Configurations that were never proposed are welcome (earlier runs): they are learnt from and not proposed again.
  virtual void tell(PointId point, const Observation& observation) = 0;
};

struct StrategyOptions {
  std::uint64_t seed = 0;
  int expected_trials = 32;  ///< how many proposals the budget will allow, about
  double budget_s = 0;       ///< of all trials together; 0: only expected_trials counts
  std::vector<PointId> first =
      {};  ///< proposed before anything else (default configuration, winners of related shapes)
  std::function<double(const Config&)> predicted_us = {};  ///< an analytic model's guess; empty: there is none
};

/// Names that make_strategy takes, the default first.
std::span<const std::string_view> strategy_names();
inline constexpr std::string_view default_strategy = "portfolio";

/// The same in words: "portfolio, random, ...".
std::string strategy_list();
/// Throws Error usage for an unknown name and lists the known ones.
void require_strategy(std::string_view name);

/// Throws what require_strategy throws.
std::unique_ptr<Strategy> make_strategy(std::string_view name, std::shared_ptr<const SearchSpace> space,
                                        const StrategyOptions& options);

}  // namespace wavetune::search
