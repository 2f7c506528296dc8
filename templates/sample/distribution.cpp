#include "templates/sample/distribution.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace wavetune::templates {

Distribution::Distribution(std::span<const double> logits, double temperature)
    : probability_(logits.size()), order_(logits.size()) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  for (std::size_t id = 0; id < logits.size(); ++id) probability_[id] = std::exp((logits[id] - largest) / temperature);
  const double total = std::accumulate(probability_.begin(), probability_.end(), 0.0);
  for (double& p : probability_) p /= total;
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
}

std::vector<double> Distribution::kept(double top_p) const {
  if (top_p >= 1.0) return probability_;
  std::vector<double> result(probability_.size(), 0.0);
  double cumulative = 0.0;
  for (const std::size_t id : order_) {
    result[id] = probability_[id];
    cumulative += probability_[id];
    if (cumulative >= top_p) break;
  }
  return result;
}

std::size_t Distribution::draw(double top_p, double uniform) const {
  const std::vector<double> mass = kept(top_p);
  const double goal = uniform * std::accumulate(mass.begin(), mass.end(), 0.0);
  double cumulative = 0.0;
  std::size_t last = order_.front();
  for (std::size_t id = 0; id < mass.size(); ++id) {
    if (mass[id] <= 0.0) continue;
    last = id;
    cumulative += mass[id];
    if (cumulative > goal) break;
  }
  return last;
}

Interval Distribution::interval(std::size_t token, double top_p) const {
  const std::vector<double> mass = kept(top_p);
  const double total = std::accumulate(mass.begin(), mass.end(), 0.0);
  const double before = std::accumulate(mass.begin(), mass.begin() + static_cast<std::ptrdiff_t>(token), 0.0);
  return {before / total, (before + mass[token]) / total};
}

}  // namespace wavetune::templates
