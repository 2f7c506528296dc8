#include "search/strategy/extra_trees.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "search/strategy/random_numbers.h"

namespace wavetune::search {
namespace {

constexpr int trees = 20;

struct Split {
  std::size_t parameter = 0;
  std::uint16_t threshold = 0;
  double gain = -1;  ///< negative: there is none
};

}  // namespace

struct ExtraTrees::Samples {
  std::span<const std::size_t> parameters;
  std::span<const Point> points;
  std::span<const double> values;

  /// A random threshold for one parameter, and by how much it reduces the sum of squares.
  Split random_split(std::span<const std::uint32_t> chosen, std::size_t parameter, std::mt19937_64& random) const {
    std::uint16_t low = points[chosen.front()][parameter];
    std::uint16_t high = low;
    for (const std::uint32_t sample : chosen) {
      low = std::min(low, points[sample][parameter]);
      high = std::max(high, points[sample][parameter]);
    }
    if (low == high) return {};
    const auto threshold = static_cast<std::uint16_t>(low + below(random, high - low));
    double left_sum = 0;
    double right_sum = 0;
    std::size_t left = 0;
    for (const std::uint32_t sample : chosen) {
      const bool goes_left = points[sample][parameter] <= threshold;
      left += goes_left ? 1 : 0;
      (goes_left ? left_sum : right_sum) += values[sample];
    }
    const auto left_count = static_cast<double>(left);
    const auto right_count = static_cast<double>(chosen.size() - left);
    const double difference = left_sum / left_count - right_sum / right_count;
    return {parameter, threshold, difference * difference * left_count * right_count};
  }
};

void ExtraTrees::fit(std::span<const std::size_t> parameters, std::span<const Point> points,
                     std::span<const double> values, std::mt19937_64& random) {
  nodes_.clear();
  roots_.clear();
  std::vector<std::uint32_t> chosen(points.size());
  std::iota(chosen.begin(), chosen.end(), 0U);
  for (int tree = 0; tree < trees; ++tree) {
    roots_.push_back(static_cast<std::uint32_t>(nodes_.size()));
    grow({parameters, points, values}, chosen, random);
  }
}

void ExtraTrees::grow(const Samples& samples, std::span<std::uint32_t> chosen, std::mt19937_64& random) {
  Split best;
  for (const std::size_t parameter : samples.parameters) {
    const Split split = samples.random_split(chosen, parameter, random);
    if (split.gain > best.gain) best = split;
  }
  const std::size_t here = nodes_.size();
  if (!(best.gain > 0)) {  // one sample, or all the same: a leaf
    double sum = 0;
    for (const std::uint32_t sample : chosen) sum += samples.values[sample];
    nodes_.push_back({static_cast<float>(sum / static_cast<double>(chosen.size())), 0, -1, 0});
    return;
  }
  nodes_.push_back({0, best.threshold, static_cast<std::int16_t>(best.parameter), 0});
  const auto middle = std::partition(chosen.begin(), chosen.end(), [&](std::uint32_t sample) {
    return samples.points[sample][best.parameter] <= best.threshold;
  });
  const auto left = static_cast<std::size_t>(middle - chosen.begin());
  grow(samples, chosen.first(left), random);
  nodes_[here].right = static_cast<std::uint32_t>(nodes_.size());
  grow(samples, chosen.subspan(left), random);
}

ExtraTrees::Estimate ExtraTrees::estimate(const Point& point) const {
  double sum = 0;
  double squares = 0;
  for (const std::uint32_t root : roots_) {
    std::size_t at = root;
    while (nodes_[at].parameter >= 0) {
      const Node& node = nodes_[at];
      at = point[static_cast<std::size_t>(node.parameter)] <= node.threshold ? at + 1 : node.right;
    }
    const double value = nodes_[at].value;
    sum += value;
    squares += value * value;
  }
  const auto count = static_cast<double>(roots_.size());
  const double mean = sum / count;
  return {mean, std::sqrt(std::max(0.0, squares / count - mean * mean))};
}

}  // namespace wavetune::search
