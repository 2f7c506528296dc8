#include "search/strategy/model/posterior.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "search/strategy/model/vector_ops.h"

namespace wavetune::search {
namespace {

constexpr float smallest_pivot = 1e-6F;

}  // namespace

Posterior::Posterior(const Kernel& kernel, std::vector<std::uint16_t> pool, std::size_t pool_size)
    : kernel_(kernel), pool_(std::move(pool)), variance_(pool_size, 1.0F) {
  mean_.fill(variance_);
  for (std::vector<float>& mean : mean_) std::fill(mean.begin(), mean.end(), 0.0F);
}

std::size_t Posterior::expect(const Point& point) {
  const std::size_t n = points_.size();
  Observed added;
  added.point = point;
  added.factor.resize(n + 1);
  float pivot = 1 + static_cast<float>(kernel_.settings().noise);
  for (std::size_t j = 0; j < n; ++j) {
    const std::vector<float>& other = points_[j].factor;
    float sum = kernel_(point, points_[j].point);
    for (std::size_t c = 0; c < j; ++c) sum -= added.factor[c] * other[c];
    added.factor[j] = sum / other[j];
    pivot -= added.factor[j] * added.factor[j];
    for (std::size_t o = 0; o < 2; ++o) added.value[o] += added.factor[j] * points_[j].weight[o];
  }
  pivot = std::sqrt(std::max(pivot, smallest_pivot));
  added.factor[n] = pivot;

  added.solved.resize(variance_.size());
  kernel_.row(point, pool_, added.solved);
  for (std::size_t c = 0; c < n; ++c) subtract_scaled(added.solved, added.factor[c], points_[c].solved);
  divide_and_subtract_squares(added.solved, pivot, variance_);
  points_.push_back(std::move(added));
  return n;
}

void Posterior::set(std::size_t index, Output output, double value) {
  const auto o = static_cast<std::size_t>(output);
  points_[index].value[o] = static_cast<float>(value);
  points_[index].known[o] = true;
  std::vector<float>& mean = mean_[o];
  for (std::size_t i = index; i < points_.size(); ++i) {
    Observed& observed = points_[i];
    float expected = 0;
    for (std::size_t c = 0; c < i; ++c) expected += observed.factor[c] * points_[c].weight[o];
    if (!observed.known[o]) observed.value[o] = expected;
    const float weight = (observed.value[o] - expected) / observed.factor[i];
    const float change = weight - observed.weight[o];
    observed.weight[o] = weight;
    if (change == 0) continue;
    subtract_scaled(mean, -change, observed.solved);
  }
}

double Posterior::scale() const {
  constexpr auto time = static_cast<std::size_t>(Output::time);
  double sum = 0;
  int known = 0;
  for (const Observed& observed : points_) {
    if (!observed.known[time]) continue;
    sum += static_cast<double>(observed.weight[time]) * static_cast<double>(observed.weight[time]);
    ++known;
  }
  return std::sqrt(std::max(1e-8, sum / std::max(1, known)));
}

}  // namespace wavetune::search
