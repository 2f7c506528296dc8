#include "search/replay/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace wavetune::replay {
namespace {

// Enough for a plot, few enough for a page of ten strategies on a dozen spaces.
constexpr std::size_t most_points = 201;
constexpr double normal_95 = 1.96;

std::vector<std::size_t> thinned(std::size_t count) {
  std::vector<std::size_t> kept;
  const std::size_t points = std::min(count, most_points);
  for (std::size_t i = 0; i < points; ++i) kept.push_back(points == 1 ? 0 : i * (count - 1) / (points - 1));
  return kept;
}

Curve curve_of_series(const ScoredSpace& space, const Series& series) {
  Curve curve;
  curve.strategy = series.strategy;
  curve.space = series.space;
  for (const std::size_t i : thinned(space.times_s.size())) {
    curve.times_s.push_back(space.times_s[i]);
    curve.random_ms.push_back(space.random_ms[i]);
  }
  const std::size_t points = curve.times_s.size();
  std::vector<double> sum(points);
  std::vector<double> squares(points);
  for (const Trace& trace : series.traces) {
    const std::vector<double> best = curve_of(trace, space.statistics, curve.times_s);
    for (std::size_t i = 0; i < points; ++i) {
      sum[i] += best[i];
      squares[i] += best[i] * best[i];
    }
  }
  const auto runs = static_cast<double>(series.traces.size());
  for (std::size_t i = 0; i < points; ++i) {
    const double mean = sum[i] / runs;
    const double variance = runs > 1 ? std::max(0.0, (squares[i] - runs * mean * mean) / (runs - 1)) : 0;
    const double half = normal_95 * std::sqrt(variance / runs);
    curve.mean_ms.push_back(mean);
    curve.low_ms.push_back(mean - half);
    curve.high_ms.push_back(mean + half);
    const double room = curve.random_ms[i] - space.statistics.optimum_ms;
    curve.score.push_back(room > 0 ? (curve.random_ms[i] - mean) / room : 0);
  }
  return curve;
}

/// A field of RFC 4180.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace

std::vector<Curve> curves_of(const std::vector<ScoredSpace>& spaces, const std::vector<Series>& series) {
  std::vector<Curve> curves;
  curves.reserve(series.size());
  for (const Series& one : series) curves.push_back(curve_of_series(spaces[one.space], one));
  return curves;
}

std::string curves_csv(const std::vector<ScoredSpace>& spaces, const std::vector<Curve>& curves) {
  std::string text = "space,strategy,relative_time,time_s,mean_best_ms,low_ms,high_ms,random_ms,score\n";
  for (const Curve& curve : curves) {
    const ScoredSpace& space = spaces[curve.space];
    const double length_s = space.statistics.budget_s - space.statistics.start_s;
    for (std::size_t i = 0; i < curve.times_s.size(); ++i) {
      const double relative = length_s > 0 ? (curve.times_s[i] - space.statistics.start_s) / length_s : 0;
      fmt::format_to(std::back_inserter(text), "{},{},{:.6g},{:.8g},{:.8g},{:.8g},{:.8g},{:.8g},{:.6g}\n",
                     field(space.recording.name), field(curve.strategy), relative, curve.times_s[i], curve.mean_ms[i],
                     curve.low_ms[i], curve.high_ms[i], curve.random_ms[i], curve.score[i]);
    }
  }
  return text;
}

}  // namespace wavetune::replay
