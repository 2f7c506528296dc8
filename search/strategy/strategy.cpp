#include "search/strategy/strategy.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "db/base/error.h"
#include "search/strategy/strategies.h"

namespace wavetune::search {
namespace {

struct Named {
  std::string_view name;
  MakeStrategy* make;
};
constexpr std::array all_strategies = {
    Named{default_strategy, make_portfolio},
    Named{"random", make_random},
    Named{"exhaustive", make_exhaustive},
    Named{"annealing", make_annealing},
    Named{"differential_evolution", make_differential_evolution},
    Named{"genetic", make_genetic},
    Named{"local_search", make_local_search},
    Named{"surrogate", make_surrogate},
};

}  // namespace

std::span<const std::string_view> strategy_names() {
  static const auto names = [] {
    std::array<std::string_view, all_strategies.size()> list;
    std::transform(all_strategies.begin(), all_strategies.end(), list.begin(),
                   [](const Named& strategy) { return strategy.name; });
    return list;
  }();
  return names;
}

std::string strategy_list() {
  std::string list;
  for (const std::string_view name : strategy_names()) list += (list.empty() ? "" : ", ") + std::string(name);
  return list;
}

void require_strategy(std::string_view name) {
  const std::span<const std::string_view> known = strategy_names();
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  fail(ErrorKind::usage, "there is no search strategy '{}'; there are {}", name, strategy_list());
}

std::unique_ptr<Strategy> make_strategy(std::string_view name, std::shared_ptr<const SearchSpace> space,
                                        const StrategyOptions& options) {
  require_strategy(name);
  const auto* const found = std::find_if(all_strategies.begin(), all_strategies.end(),
                                         [name](const Named& strategy) { return strategy.name == name; });
  return found->make(std::move(space), options);
}

}  // namespace wavetune::search
