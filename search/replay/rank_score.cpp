#include "search/replay/rank_score.h"

#include <algorithm>
#include <cmath>

#include "search/measure/timing.h"

namespace wavetune::replay {
namespace {

// Evaluations this far outside the times still take part in the regression.
constexpr double margin = 0.1;
// A value that went through a text file is found again within this.
constexpr double rounding = 1e-7;

double end_slope(double width, double next_width, double slope, double next_slope) {
  const double derivative = ((2 * width + next_width) * slope - width * next_slope) / (width + next_width);
  if (derivative * slope <= 0) return 0;
  if (slope * next_slope <= 0 && std::abs(derivative) > 3 * std::abs(slope)) return 3 * slope;
  return derivative;
}

/// Derivatives of the monotone cubic through (x, y); at least two points, x ascending.
std::vector<double> monotone_derivatives(const std::vector<double>& x, const std::vector<double>& y) {
  const std::size_t last = x.size() - 1;
  std::vector<double> width(last);
  std::vector<double> slope(last);
  for (std::size_t i = 0; i < last; ++i) {
    width[i] = x[i + 1] - x[i];
    slope[i] = (y[i + 1] - y[i]) / width[i];
  }
  std::vector<double> derivative(x.size(), slope[0]);
  if (last == 1) return derivative;
  derivative[0] = end_slope(width[0], width[1], slope[0], slope[1]);
  derivative[last] = end_slope(width[last - 1], width[last - 2], slope[last - 1], slope[last - 2]);
  for (std::size_t i = 1; i < last; ++i) {
    if (slope[i - 1] * slope[i] <= 0) {
      derivative[i] = 0;
      continue;
    }
    const double before = 2 * width[i] + width[i - 1];
    const double after = width[i] + 2 * width[i - 1];
    derivative[i] = (before + after) / (before / slope[i - 1] + after / slope[i]);
  }
  return derivative;
}

/// The cubic at `count` evenly spaced places from the first to the last x.
std::vector<double> monotone_cubic(const std::vector<double>& x, const std::vector<double>& y, std::size_t count) {
  if (x.size() == 1) return std::vector<double>(count, y[0]);
  const std::vector<double> derivative = monotone_derivatives(x, y);
  std::vector<double> values;
  values.reserve(count);
  std::size_t piece = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double at = x.front() + (x.back() - x.front()) * static_cast<double>(i) / static_cast<double>(count - 1);
    while (piece + 2 < x.size() && at > x[piece + 1]) ++piece;
    const double width = x[piece + 1] - x[piece];
    const double t = (at - x[piece]) / width;
    const double u = 1 - t;
    values.push_back(y[piece] * u * u * (1 + 2 * t) + y[piece + 1] * t * t * (3 - 2 * t) +
                     derivative[piece] * width * t * u * u - derivative[piece + 1] * width * t * t * u);
  }
  return values;
}

/// Neighbouring evaluations that the regression gives one rank.
struct Block {
  double first_s, last_s;
  double weight;
  double rank;
};

/// Linear between blocks, constant inside and beyond.
double rank_at(const std::vector<Block>& blocks, std::size_t& block, double time_s) {
  while (block + 1 < blocks.size() && time_s >= blocks[block + 1].first_s) ++block;
  const Block& here = blocks[block];
  if (time_s <= here.last_s || block + 1 == blocks.size()) return here.rank;
  const Block& next = blocks[block + 1];
  const double part = (time_s - here.last_s) / (next.first_s - here.last_s);
  return here.rank + part * (next.rank - here.rank);
}

}  // namespace

std::vector<double> published_random_curve(const SpaceStatistics& space, const std::vector<double>& times_s) {
  const auto count = static_cast<double>(space.ascending_ms.size());
  std::vector<double> evaluations;
  std::vector<double> values;
  for (const double time_s : times_s) {
    const double k = std::nearbyint(std::max(1.0, time_s / space.mean_cost_s));
    if (!evaluations.empty() && evaluations.back() == k) continue;
    const double rank = std::min(count - 1, std::nearbyint(k * (count + 1) / (k + 1)));
    evaluations.push_back(k);
    values.push_back(space.ascending_ms[static_cast<std::size_t>(count - 1 - rank)]);
  }
  return monotone_cubic(evaluations, values, times_s.size());
}

RankedTraces::RankedTraces(const std::vector<Trace>& traces, const SpaceStatistics& space,
                           const std::vector<double>& times_s)
    : space_(space), times_s_(times_s) {
  std::vector<double> ends;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    double end_s = 0;
    double rank = 0;
    double rank_of = -1;
    for (const TracePoint& point : traces[i]) {
      if (!point.best_ms) continue;
      end_s = point.time_s;
      if (point.time_s < times_s.front() * (1 - margin) || point.time_s > times_s.back() * (1 + margin)) continue;
      if (*point.best_ms != rank_of) {
        const auto& values = space.ascending_ms;
        const auto found = std::lower_bound(values.begin(), values.end(), *point.best_ms * (1 - rounding));
        rank = static_cast<double>(std::min<std::ptrdiff_t>(found - values.begin(), std::ssize(values) - 1));
        rank_of = *point.best_ms;
      }
      points_.push_back({point.time_s, rank, i});
    }
    if (end_s > 0) ends.push_back(end_s);
  }
  std::stable_sort(points_.begin(), points_.end(), [](const Point& a, const Point& b) { return a.time_s < b.time_s; });
  last_s_ = measure::median(ends);
}

std::vector<double> RankedTraces::curve(const std::vector<double>& weights) const {
  std::vector<Block> blocks;
  const auto pool = [&blocks] {
    Block& into = blocks[blocks.size() - 2];
    const Block& from = blocks.back();
    into.rank = (into.rank * into.weight + from.rank * from.weight) / (into.weight + from.weight);
    into.weight += from.weight;
    into.last_s = from.last_s;
    blocks.pop_back();
  };
  for (const Point& point : points_) {
    const double weight = weights[point.trace];
    if (weight <= 0) continue;
    blocks.push_back({point.time_s, point.time_s, weight, point.rank});
    // Ranks fall with time; what rises, or stands at one time, is averaged.
    while (blocks.size() > 1 && (blocks.back().rank > blocks[blocks.size() - 2].rank ||
                                 blocks.back().first_s == blocks[blocks.size() - 2].last_s)) {
      pool();
    }
  }
  if (blocks.empty()) return std::vector<double>(times_s_.size(), space_.median_ms);
  std::vector<double> curve;
  curve.reserve(times_s_.size());
  std::size_t block = 0;
  for (const double time_s : times_s_) {
    const double rank = std::nearbyint(rank_at(blocks, block, std::min(time_s, last_s_)));
    curve.push_back(space_.ascending_ms[static_cast<std::size_t>(rank)]);
  }
  return curve;
}

}  // namespace wavetune::replay
