#include "search/replay/score.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "db/base/error.h"
#include "search/measure/timing.h"

namespace wavetune::replay {
namespace {

// What is left of a probability that cannot change a sum any more.
constexpr double negligible = 1e-18;
// A random search this near to the optimum, as part of the way from the median, leaves nothing to win.
constexpr double at_optimum = 1e-6;
// A time that is a whole number of evaluations may come out this much below it.
constexpr double rounding = 1e-9;

/// The published budget: with N valid values and i the first in descending order that reaches the target, i / (N + 1 -
/// i) evaluations, rounded up.
int evaluations_to_reach(const std::vector<double>& ascending_ms, double target_ms) {
  const auto reached = std::upper_bound(ascending_ms.begin(), ascending_ms.end(), target_ms) - ascending_ms.begin();
  const auto count = static_cast<double>(ascending_ms.size());
  const double rank = count - static_cast<double>(reached);  // so many in descending order are above the target
  return static_cast<int>(std::ceil(rank / (count + 1 - rank)));
}

}  // namespace

SpaceStatistics statistics_of(const Recording& recording, const ScoreRule& rule) {
  SpaceStatistics space;
  space.size = recording.trials.size();
  double cost_s = 0;
  for (const RecordedTrial& trial : recording.trials) {
    cost_s += trial.cost_s;
    if (trial.value_ms) space.ascending_ms.push_back(*trial.value_ms);
  }
  std::sort(space.ascending_ms.begin(), space.ascending_ms.end());
  if (space.ascending_ms.empty() || space.ascending_ms.front() == space.ascending_ms.back()) {
    fail(ErrorKind::bad_data,
         "{}: {} valid results in {}, with fewer than two different values: there is nothing to search", recording.name,
         space.ascending_ms.size(), space.size);
  }
  space.mean_cost_s = cost_s / static_cast<double>(space.size);
  if (!(space.mean_cost_s > 0)) {
    fail(ErrorKind::bad_data, "{}: its trials took no time at all: there is no clock to score by", recording.name);
  }
  space.optimum_ms = space.ascending_ms.front();
  space.median_ms = measure::median(space.ascending_ms);
  const auto evaluations = [&space](double p) {
    return evaluations_to_reach(space.ascending_ms, space.optimum_ms + (space.median_ms - space.optimum_ms) * (1 - p));
  };
  space.start_evaluations = evaluations(rule.p_start);
  space.evaluations = evaluations(rule.p);
  space.start_s = space.start_evaluations * space.mean_cost_s;
  space.budget_s = space.evaluations * space.mean_cost_s;
  return space;
}

std::vector<double> time_points(const SpaceStatistics& space, const ScoreRule& rule) {
  std::vector<double> times(static_cast<std::size_t>(rule.points));
  const double step = rule.points > 1 ? (space.budget_s - space.start_s) / (rule.points - 1) : 0;
  for (std::size_t i = 0; i < times.size(); ++i) times[i] = space.start_s + step * static_cast<double>(i);
  times.back() = space.budget_s;  // exactly
  return times;
}

double random_search_ms(const SpaceStatistics& space, std::size_t evaluations) {
  if (evaluations >= space.size) return space.optimum_ms;
  // The chance that none of the i best is among the drawn ones, i = 0, 1, ...
  double none_yet = 1;
  double sum = 0;
  for (std::size_t i = 0; i < space.ascending_ms.size(); ++i) {
    const auto left = static_cast<double>(space.size - i);
    const double none_after = std::max(0.0, none_yet * (left - static_cast<double>(evaluations)) / left);
    sum += space.ascending_ms[i] * (none_yet - none_after);
    none_yet = none_after;
    if (none_yet < negligible) break;
  }
  return sum + none_yet * space.median_ms;
}

std::vector<double> random_search_curve(const SpaceStatistics& space, const std::vector<double>& times_s) {
  std::vector<double> curve;
  curve.reserve(times_s.size());
  std::size_t last = 0;
  double last_ms = random_search_ms(space, last);
  for (const double time_s : times_s) {
    const auto evaluations = static_cast<std::size_t>(time_s / space.mean_cost_s + rounding);
    if (evaluations != last) {
      last = evaluations;
      last_ms = random_search_ms(space, last);
    }
    curve.push_back(last_ms);
  }
  return curve;
}

std::vector<double> curve_of(const Trace& trace, const SpaceStatistics& space, const std::vector<double>& times_s) {
  std::vector<double> curve;
  curve.reserve(times_s.size());
  double best_ms = space.median_ms;
  std::size_t next = 0;
  for (const double time_s : times_s) {
    for (; next < trace.size() && trace[next].time_s <= time_s; ++next) {
      if (trace[next].best_ms) best_ms = *trace[next].best_ms;
    }
    curve.push_back(best_ms);
  }
  return curve;
}

double score_of_curve(const std::vector<double>& curve, const std::vector<double>& baseline,
                      const SpaceStatistics& space) {
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const double room = baseline[i] - space.optimum_ms;
    if (room <= at_optimum * (space.median_ms - space.optimum_ms)) continue;
    sum += (baseline[i] - curve[i]) / room;
    ++count;
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

double time_to_within(const Trace& trace, const SpaceStatistics& space, double fraction) {
  const double target_ms = space.optimum_ms * (1 + fraction);
  for (const TracePoint& point : trace) {
    if (point.best_ms && *point.best_ms <= target_ms) return point.time_s;
  }
  return std::numeric_limits<double>::infinity();
}

}  // namespace wavetune::replay
