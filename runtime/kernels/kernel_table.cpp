#include "runtime/kernels/kernel_table.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "db/base/error.h"
#include "templates/registry.h"

namespace wavetune::kernels {
namespace {

enum class DimKind {
  fixed,     ///< part of what the kernel is compiled for: must be equal
  work,      ///< how much there is to do: the nearest tuned value serves
  capacity,  ///< how much could be there (cache and table sizes): does not change the work
};

/// No kernel constant may depend on a dimension that is not fixed.
DimKind kind_of(std::string_view name) {
  if (name == "m" || name == "context" || name == "rows") return DimKind::work;
  if (name == "slots" || name == "sequences" || name == "pages") return DimKind::capacity;
  return DimKind::fixed;
}

/// Order of preference, smaller first: at m the next larger before any smaller, then the closest by ratio; the other
/// dimensions of work decide between equal m, and capacities between the rest.
using Distance = std::tuple<int, double, double, double>;

Distance distance_between(const db::Problem& wanted, const db::Problem& tuned) {
  auto log_ratio = [&](std::string_view name) {
    const double a = static_cast<double>(wanted.dim_or(name, 1));
    const double b = static_cast<double>(tuned.dim_or(name, 1));
    return std::log2(std::max(b, 1.0) / std::max(a, 1.0));
  };
  const double m = log_ratio("m");
  const double work = std::abs(log_ratio("context")) + std::abs(log_ratio("rows"));
  const double capacity =
      std::abs(log_ratio("slots")) + std::abs(log_ratio("sequences")) + std::abs(log_ratio("pages"));
  return {m >= 0 ? 0 : 1, std::abs(m), work, capacity};
}

bool fits(const Orders& orders, const templates::Operator& op, const db::Problem& problem, const db::Config& config) {
  for (std::size_t i = 0; i < orders.size(); ++i) {
    if (orders[i] && op.arrangement(problem, config, i) != *orders[i]) return false;
  }
  return true;
}

/// A configuration that needs no tuning and reads the operands as they lie.
db::Config default_for(const templates::Operator& op, const db::Problem& problem, const templates::DeviceLimits& limits,
                       const Orders& orders) {
  db::Config config = op.default_config(problem, limits);
  if (fits(orders, op, problem, config)) return config;
  // The nearest to the default one: weights were ordered for winners at another m.
  const db::Config* best = nullptr;
  std::size_t most_equal = 0;
  const std::vector<db::Config> all = op.space(problem, limits).enumerate();
  for (const db::Config& candidate : all) {
    if (!fits(orders, op, problem, candidate)) continue;
    std::size_t equal = 0;
    for (const auto& [name, value] : candidate) equal += config.at(name) == value ? 1 : 0;
    if (best != nullptr && equal <= most_equal) continue;
    best = &candidate;
    most_equal = equal;
  }
  if (best == nullptr) fail(ErrorKind::internal, "{} has no configuration for its weights' order", problem.key());
  return *best;
}

/// Whether there is a configuration that reads the operands in these orders.
bool readable(const templates::Operator& op, const db::Problem& problem, const templates::DeviceLimits& limits,
              const Orders& orders) {
  if (fits(orders, op, problem, op.default_config(problem, limits))) return true;
  bool found = false;
  op.space(problem, limits).visit([&](const db::Config& config) {
    found = fits(orders, op, problem, config);
    return !found;
  });
  return found;
}

/// The same at every number of rows that a step may have: some kernels are for few rows alone.
bool readable_at_all_m(const templates::Operator& op, db::Problem problem, const templates::DeviceLimits& limits,
                       const Orders& orders) {
  if (!problem.dims.contains("m")) return readable(op, problem, limits, orders);
  for (const std::int64_t m : {1, 16, 256, 4096}) {
    problem.dims["m"] = m;
    if (!readable(op, problem, limits, orders)) return false;
  }
  return true;
}

bool same_work(const Distance& distance) {
  return std::get<0>(distance) == 0 && std::get<1>(distance) == 0 && std::get<2>(distance) == 0;
}

}  // namespace

std::string family_key(const db::Problem& problem) {
  db::Problem family{problem.op, problem.dtype, {}};
  for (const auto& [name, value] : problem.dims) {
    if (kind_of(name) == DimKind::fixed) family.dims.emplace(name, value);
  }
  return family.key();
}

std::string_view to_string(Match match) {
  switch (match) {
    case Match::exact:
      return "exact";
    case Match::bucket:
      return "bucket";
    case Match::nearest:
      return "nearest";
    case Match::fallback:
      return "fallback";
  }
  return "fallback";
}

Match match_of(const Choice& choice, const db::Problem& problem) {
  if (choice.match == Match::fallback) return Match::fallback;
  if (same_work(distance_between(problem, db::problem_from_key(choice.from)))) return Match::exact;
  return choice.match == Match::exact ? Match::bucket : choice.match;
}

WinnerIndex::WinnerIndex(const db::Database* database, const db::Environment& environment) {
  if (database == nullptr) return;
  winners_ = database->winners(environment);
  // The database's idea of "current sources" is that of whoever tuned last; this executable's templates decide here.
  std::map<std::string, std::string> hashes;
  std::erase_if(winners_, [&](const db::Winner& winner) {
    const templates::Operator* op = templates::find_operator(winner.problem.op);
    if (op == nullptr) return true;
    auto [entry, added] = hashes.try_emplace(winner.problem.op);
    if (added) entry->second = templates::source_hash(*op);
    return winner.source_hash != entry->second;
  });
  for (std::size_t i = 0; i < winners_.size(); ++i) by_family_.emplace(family_key(winners_[i].problem), i);
}

WinnerIndex::WinnerIndex(std::vector<db::Winner> winners) : winners_(std::move(winners)) {
  for (std::size_t i = 0; i < winners_.size(); ++i) by_family_.emplace(family_key(winners_[i].problem), i);
}

void WinnerIndex::set_orders(const db::Problem& problem, Orders orders) {
  orders_.insert_or_assign(family_key(problem), std::move(orders));
}

Choice WinnerIndex::choose(const db::Problem& problem, const templates::DeviceLimits& limits) const {
  const templates::Operator& op = templates::get_operator(problem.op);
  const std::string family = family_key(problem);
  const auto set = orders_.find(family);
  const Orders orders = set == orders_.end() ? Orders{} : set->second;
  const db::Winner* best = nullptr;
  Distance best_distance;
  if (auto [begin, end] = by_family_.equal_range(family); begin != end) {
    const templates::Space space = op.space(problem, limits);
    for (auto entry = begin; entry != end; ++entry) {
      const db::Winner& winner = winners_[entry->second];
      const Distance candidate = distance_between(problem, winner.problem);
      if (best != nullptr && candidate >= best_distance) continue;
      if (!space.valid(winner.config) || !fits(orders, op, problem, winner.config)) continue;
      best = &winner;
      best_distance = candidate;
    }
  }
  if (best == nullptr) return {Match::fallback, default_for(op, problem, limits, orders), {}};
  const Match match = same_work(best_distance) ? Match::exact : Match::nearest;
  return {match, best->config, best->problem.key()};
}

std::vector<Choice> WinnerIndex::neighbours(const db::Problem& problem, const templates::DeviceLimits& limits,
                                            std::size_t each_side) const {
  const templates::Operator& op = templates::get_operator(problem.op);
  const std::string family = family_key(problem);
  const auto set = orders_.find(family);
  const Orders orders = set == orders_.end() ? Orders{} : set->second;
  std::vector<std::pair<Distance, const db::Winner*>> fitting;
  const templates::Space space = op.space(problem, limits);
  const auto [begin, end] = by_family_.equal_range(family);
  for (auto entry = begin; entry != end; ++entry) {
    const db::Winner& winner = winners_[entry->second];
    if (!space.valid(winner.config) || !fits(orders, op, problem, winner.config)) continue;
    fitting.emplace_back(distance_between(problem, winner.problem), &winner);
  }
  std::ranges::stable_sort(fitting, {}, [](const auto& one) { return one.first; });
  std::vector<Choice> near;
  std::size_t taken[2] = {0, 0};  // at a larger m, at a smaller one
  for (const auto& [distance, winner] : fitting) {
    const auto same = [&config = winner->config](const Choice& choice) { return choice.config == config; };
    std::size_t& of_side = taken[std::get<0>(distance)];
    if (of_side == each_side || std::ranges::any_of(near, same)) continue;
    ++of_side;
    near.push_back({same_work(distance) ? Match::exact : Match::nearest, winner->config, winner->problem.key()});
  }
  return near;
}

Orders WinnerIndex::preferred_orders(const db::Problem& problem, const templates::DeviceLimits& limits,
                                     const std::vector<Moves>& weights) const {
  const templates::Operator& op = templates::get_operator(problem.op);
  const auto orders_of = [&](const db::Config& config) {
    Orders orders(weights.size());
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (weights[i] != Moves::not_a_weight) orders[i] = op.arrangement(problem, config, i);
    }
    return orders;
  };
  const auto allowed = [&](const Orders& orders) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (weights[i] == Moves::stays && orders[i] != templates::Arrangement::rows) return false;
    }
    return true;
  };
  std::map<Orders, int> votes;
  const auto [begin, end] = by_family_.equal_range(family_key(problem));
  for (auto entry = begin; entry != end; ++entry) {
    const Orders orders = orders_of(winners_[entry->second].config);
    if (allowed(orders)) ++votes[orders];
  }
  const auto most = [](const auto& a, const auto& b) { return a.second < b.second; };
  while (!votes.empty()) {
    const auto first = std::max_element(votes.begin(), votes.end(), most);
    if (readable_at_all_m(op, problem, limits, first->first)) return first->first;
    votes.erase(first);
  }
  return orders_of(op.default_config(problem, limits));
}

}  // namespace wavetune::kernels
