#include <cmath>
#include <nlohmann/json.hpp>

#include "search/replay/report.h"

namespace wavetune::replay {
namespace {

using nlohmann::ordered_json;

ordered_json estimate_json(const Estimate& estimate) {
  ordered_json object = {{"score", estimate.value}};
  if (!estimate.resampled.empty()) object["interval_95"] = {estimate.low(), estimate.high()};
  return object;
}

ordered_json finite_or_null(double value) { return std::isfinite(value) ? ordered_json(value) : ordered_json(nullptr); }

ordered_json space_json(const ScoredSpace& space) {
  const SpaceStatistics& statistics = space.statistics;
  return {{"name", space.recording.name},
          {"configurations", statistics.size},
          {"valid", statistics.ascending_ms.size()},
          {"optimum_ms", statistics.optimum_ms},
          {"median_ms", statistics.median_ms},
          {"mean_cost_s", statistics.mean_cost_s},
          {"start_evaluations", statistics.start_evaluations},
          {"start_s", statistics.start_s},
          {"budget_evaluations", statistics.evaluations},
          {"budget_s", statistics.budget_s}};
}

ordered_json cell_json(const Cell& cell) {
  return {{"repeats", cell.repeats},
          {"by_value", estimate_json(cell.by_value)},
          {"by_rank", estimate_json(cell.by_rank)},
          {"evaluations", cell.evaluations},
          {"runs_per_evaluation", cell.device_runs},
          {"within_5_percent_s", finite_or_null(cell.within_5_percent_s)},
          {"proposal_us", cell.proposal_us ? ordered_json(*cell.proposal_us) : ordered_json(nullptr)}};
}

ordered_json row_json(const Report& report, const Row& row) {
  ordered_json spaces = ordered_json::object();
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    if (row.cells[i]) spaces[report.spaces[i].recording.name] = cell_json(*row.cells[i]);
  }
  ordered_json mean = nullptr;
  if (row.mean_by_value && row.mean_by_rank) {
    mean = {{"by_value", estimate_json(*row.mean_by_value)}, {"by_rank", estimate_json(*row.mean_by_rank)}};
  }
  return {{"strategy", row.strategy}, {"mean", std::move(mean)}, {"spaces", std::move(spaces)}};
}

}  // namespace

ordered_json report_json(const Report& report) {
  ordered_json spaces = ordered_json::array();
  for (const ScoredSpace& space : report.spaces) spaces.push_back(space_json(space));
  ordered_json strategies = ordered_json::array();
  for (const Row& row : report.rows) strategies.push_back(row_json(report, row));
  return {{"score_by", report.by == ScoreBy::value ? "value" : "rank"},
          {"p", report.rule.p},
          {"p_start", report.rule.p_start},
          {"time_points", report.rule.points},
          {"seed", report.seed},
          {"repeats", report.repeats},
          {"duration", report.duration},
          {"racing", report.racing},
          {"spaces", std::move(spaces)},
          {"strategies", std::move(strategies)}};
}

}  // namespace wavetune::replay
