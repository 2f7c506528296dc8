#include "search/layout/cost_table.h"

#include <algorithm>
#include <utility>

#include "search/driver/roofline.h"
#include "search/measure/timing.h"
#include "search/predict/moe_model.h"
#include "templates/registry.h"

namespace wavetune::search {
namespace {

std::vector<db::Winner> current_winners(const db::Database& database, const db::Environment& environment) {
  std::vector<db::Winner> winners = database.winners(environment);
  std::map<std::string, std::string> hashes;
  std::erase_if(winners, [&](const db::Winner& winner) {
    const templates::Operator* op = templates::find_operator(winner.problem.op);
    if (op == nullptr) return true;
    std::string& hash = hashes[winner.problem.op];
    if (hash.empty()) hash = templates::source_hash(*op);
    return hash != winner.source_hash;
  });
  return winners;
}

double number(const db::Problem& problem, std::string_view dim) { return static_cast<double>(problem.dim(dim)); }

}  // namespace

std::string_view to_string(CostSource source) {
  switch (source) {
    case CostSource::measured:
      return "measured";
    case CostSource::published:
      return "published";
    case CostSource::estimated:
      return "estimated";
  }
  return "";
}

CostTable::CostTable(const db::Database& database, const db::Environment& environment, measure::DevicePeak peak)
    : peak_(std::move(peak)), machine_(predict::machine_for(environment.arch)) {
  learn(current_winners(database, environment));
}

CostTable::CostTable(const std::vector<db::Winner>& winners, measure::DevicePeak peak,
                     std::span<const ReferenceTime> references, std::string_view arch)
    : peak_(std::move(peak)), machine_(predict::machine_for(arch)) {
  learn(winners);
  learn(references);
}

void CostTable::learn(const std::vector<db::Winner>& winners) {
  std::map<std::string, std::vector<double>> by_op;
  std::vector<double> all;
  winners_ = winners.size();
  for (const db::Winner& winner : winners) {
    measured_.add(winner.problem, winner.median_us);
    const double roofline = roofline_of(winner.problem);
    if (!(roofline > 0)) continue;
    by_op[winner.problem.op].push_back(winner.median_us / roofline);
    all.push_back(winner.median_us / roofline);
  }
  for (const auto& [op, ratios] : by_op) slowdown_[op] = measure::median(ratios);
  if (!all.empty()) overall_slowdown_ = measure::median(all);
}

void CostTable::learn(std::span<const ReferenceTime> references) {
  for (const ReferenceTime& reference : references) {
    ++(reference.source == CostSource::measured ? winners_ : references_);
    if (reference.source == CostSource::measured) {
      measured_.add(reference.problem, reference.us);
      continue;
    }
    (reference.source == CostSource::published ? published_ : derived_).add(reference.problem, reference.us);
    if (reference.source != CostSource::published) continue;
    shortest_us_ = shortest_us_ > 0 ? std::min(shortest_us_, reference.us) : reference.us;
  }
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

std::optional<double> CostTable::modelled(const db::Problem& problem) const {
  const auto format = predict::number_format(problem.dtype);
  if (!machine_ || !format) return std::nullopt;
  if (problem.op == "gemm") {
    return predict::best_gemm(*machine_, {*format, number(problem, "m"), number(problem, "n"), number(problem, "k"),
                                          static_cast<double>(problem.dim_or("batch", 1))})
        .prediction.us;
  }
  if (problem.op == "grouped_gemm") {
    const double both = problem.dim_or("swiglu", 0) == 1 ? 2 : 1;  // gate and up
    return predict::best_grouped(*machine_, {*format, number(problem, "m"), both * number(problem, "n"),
                                             number(problem, "k"), number(problem, "experts"), number(problem, "topk")})
        .prediction.us;
  }
  if (problem.op == "fused_moe") {
    return predict::best_moe(*machine_, {*format, number(problem, "m"), number(problem, "k"), number(problem, "n"),
                                         number(problem, "experts"), number(problem, "topk"), /*shared=*/0})
        .us();
  }
  return std::nullopt;
}

double CostTable::estimate(const db::Problem& problem) const {
  const auto ratio = slowdown_.find(problem.op);
  if (ratio == slowdown_.end()) {
    if (const auto us = modelled(problem)) return std::max(*us, shortest_us_);
  }
  const double slowdown = ratio == slowdown_.end() ? overall_slowdown_ : ratio->second;
  return std::max(roofline_of(problem) * slowdown, shortest_us_);
}

std::optional<ProblemCost> CostTable::look_up(const KnownTimes& times, CostSource source, const db::Problem& problem,
                                              bool extrapolate) const {
  const auto found = times.find(problem);
  if (!found) return std::nullopt;
  using Place = KnownTimes::Place;
  if (found->place == Place::known || found->place == Place::between) return ProblemCost{found->us, source};
  if (!extrapolate) return std::nullopt;
  if (found->place == Place::beyond) {
    const auto here = modelled(problem), there = modelled(found->nearest);
    if (here && there) return ProblemCost{found->us * std::max(1.0, *here / *there), CostSource::estimated};
    if (found->us_per_row) {
      const auto rows = static_cast<double>(problem.dim("m") - found->nearest.dim("m"));
      return ProblemCost{found->us + rows * *found->us_per_row, CostSource::estimated};
    }
  }
  const double here = roofline_of(problem), there = roofline_of(found->nearest);
  return ProblemCost{there > 0 ? found->us * here / there : found->us, CostSource::estimated};
}

ProblemCost CostTable::cost(const db::Problem& problem) const {
  for (const bool extrapolate : {false, true}) {
    if (const auto cost = look_up(measured_, CostSource::measured, problem, extrapolate)) return *cost;
    if (const auto cost = look_up(published_, CostSource::published, problem, extrapolate)) return *cost;
    if (const auto cost = look_up(derived_, CostSource::estimated, problem, extrapolate)) return *cost;
  }
  return {estimate(problem), CostSource::estimated};
}

}  // namespace wavetune::search
