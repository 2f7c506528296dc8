#include "search/layout/cost_table.h"

#include <algorithm>
#include <utility>

#include "search/driver/roofline.h"
#include "search/measure/timing.h"
#include "templates/registry.h"

namespace wavetune::search {
namespace {

std::string key_without_capacities(const db::Problem& problem) {
  db::Problem reduced = problem;
  for (const char* name : {"slots", "sequences", "pages"}) reduced.dims.erase(name);
  return reduced.key();
}

}  // namespace

CostTable::CostTable(const db::Database& database, const db::Environment& environment, measure::DevicePeak peak)
    : peak_(std::move(peak)) {
  std::vector<db::Winner> winners = database.winners(environment);
  std::map<std::string, std::string> hashes;
  std::erase_if(winners, [&](const db::Winner& winner) {
    const templates::Operator* op = templates::find_operator(winner.problem.op);
    if (op == nullptr) return true;
    std::string& hash = hashes[winner.problem.op];
    if (hash.empty()) hash = templates::source_hash(*op);
    return hash != winner.source_hash;
  });
  learn(winners);
}

CostTable::CostTable(const std::vector<db::Winner>& winners, measure::DevicePeak peak) : peak_(std::move(peak)) {
  learn(winners);
}

void CostTable::learn(const std::vector<db::Winner>& winners) {
  std::map<std::string, std::vector<double>> by_op;
  std::vector<double> all;
  for (const db::Winner& winner : winners) {
    const auto [entry, added] = measured_us_.emplace(key_without_capacities(winner.problem), winner.median_us);
    if (!added) entry->second = std::min(entry->second, winner.median_us);
    const double roofline = roofline_of(winner.problem);
    if (!(roofline > 0)) continue;
    by_op[winner.problem.op].push_back(winner.median_us / roofline);
    all.push_back(winner.median_us / roofline);
  }
  for (const auto& [op, ratios] : by_op) slowdown_[op] = measure::median(ratios);
  if (!all.empty()) overall_slowdown_ = measure::median(all);
}

double CostTable::roofline_of(const db::Problem& problem) const {
  if (const templates::Operator* op = templates::find_operator(problem.op)) {
    return roofline_us(op->cost(problem), peak_, problem.dtype);
  }
  templates::Cost cost;
  cost.bytes = sizeof(float);
  for (const auto& [name, value] : problem.dims) cost.bytes *= static_cast<double>(std::max<std::int64_t>(1, value));
  return roofline_us(cost, peak_, problem.dtype);
}

ProblemCost CostTable::cost(const db::Problem& problem) const {
  if (const auto found = measured_us_.find(key_without_capacities(problem)); found != measured_us_.end())
    return {found->second, true};
  const auto ratio = slowdown_.find(problem.op);
  return {roofline_of(problem) * (ratio == slowdown_.end() ? overall_slowdown_ : ratio->second), false};
}

}  // namespace wavetune::search
