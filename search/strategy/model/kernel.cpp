#include "search/strategy/model/kernel.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>

namespace wavetune::search {
namespace {

constexpr double default_length = 1.0;
constexpr double default_alignment = 0.15;
// Multiples of 32 and more are taken to be equally well aligned.
constexpr int most_twos = 5;

float power_of_two_in(std::int64_t value) {
  if (value == 0) return 0;
  return static_cast<float>(std::min(most_twos, std::countr_zero(static_cast<std::uint64_t>(std::llabs(value)))));
}

}  // namespace

Kernel::Kernel(const std::vector<templates::Parameter>& parameters) : parameters_(parameters.size()) {
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const std::vector<std::int64_t>& values = parameters[p].values;
    if (values.size() < 2) continue;
    Dimension dimension;
    dimension.values = values.size();
    const bool numbers = parameters[p].labels.empty();
    const bool positive = numbers && values.front() > 0;
    dimension.aligned = positive && values.size() > 2;
    const double last = static_cast<double>(values.size() - 1);
    for (std::size_t i = 0; i < values.size(); ++i) {
      double position = static_cast<double>(i) / last;
      if (positive) {
        const double first_log = std::log2(static_cast<double>(values.front()));
        const double last_log = std::log2(static_cast<double>(values.back()));
        const double by_log = (std::log2(static_cast<double>(values[i])) - first_log) / (last_log - first_log);
        position = 0.5 * (position + by_log);
      }
      dimension.position.push_back(static_cast<float>(position));
      dimension.power_of_two.push_back(dimension.aligned ? power_of_two_in(values[i]) : 0.0F);
    }
    active_.push_back(p);
    dimensions_.push_back(std::move(dimension));
  }
  set(default_settings());
}

KernelSettings Kernel::default_settings() const {
  KernelSettings settings;
  settings.length.assign(active_.size(), default_length);
  settings.alignment.assign(active_.size(), default_alignment);
  return settings;
}

void Kernel::set(const KernelSettings& settings) {
  settings_ = settings;
  for (std::size_t d = 0; d < active_.size(); ++d) fill_table(d);
}

void Kernel::set_length(std::size_t dimension, double length) {
  settings_.length[dimension] = length;
  fill_table(dimension);
}

void Kernel::set_alignment(std::size_t dimension, double alignment) {
  settings_.alignment[dimension] = alignment;
  fill_table(dimension);
}

void Kernel::fill_table(std::size_t d) {
  Dimension& dimension = dimensions_[d];
  const auto length = static_cast<float>(settings_.length[d]);
  const auto alignment = static_cast<float>(settings_.alignment[d]);
  dimension.table.resize(dimension.values * dimension.values);
  for (std::size_t i = 0; i < dimension.values; ++i) {
    for (std::size_t j = 0; j < dimension.values; ++j) {
      const float step = std::abs(dimension.position[i] - dimension.position[j]);
      const float twos = std::abs(dimension.power_of_two[i] - dimension.power_of_two[j]);
      dimension.table[i * dimension.values + j] = std::exp(-step / length - alignment * twos);
    }
  }
}

double Kernel::distance(std::span<const std::uint16_t> x, std::span<const std::uint16_t> y) const {
  double sum = 0;
  for (std::size_t d = 0; d < active_.size(); ++d) {
    const std::vector<float>& position = dimensions_[d].position;
    sum += std::abs(position[x[active_[d]]] - position[y[active_[d]]]);
  }
  return sum;
}

float Kernel::operator()(std::span<const std::uint16_t> x, std::span<const std::uint16_t> y) const {
  if (active_.empty()) return 1;
  float product = 1;
  float sum = 0;
  for (std::size_t d = 0; d < active_.size(); ++d) {
    const Dimension& dimension = dimensions_[d];
    const float k = dimension.table[x[active_[d]] * dimension.values + y[active_[d]]];
    product *= k;
    sum += k;
  }
  const auto additive = static_cast<float>(settings_.additive);
  return additive * sum / static_cast<float>(active_.size()) + (1 - additive) * product;
}

void Kernel::row(std::span<const std::uint16_t> x, std::span<const std::uint16_t> points, std::span<float> out) const {
  std::vector<const float*> rows;
  for (std::size_t d = 0; d < active_.size(); ++d)
    rows.push_back(&dimensions_[d].table[x[active_[d]] * dimensions_[d].values]);
  const auto additive = static_cast<float>(settings_.additive);
  const float of_sum = active_.empty() ? 0 : additive / static_cast<float>(active_.size());
  const float of_product = active_.empty() ? 1 : 1 - additive;
  const std::uint16_t* point = points.data();
  for (float& k : out) {
    float product = 1;
    float sum = 0;
    for (std::size_t d = 0; d < rows.size(); ++d) {
      const float value = rows[d][point[active_[d]]];
      product *= value;
      sum += value;
    }
    k = of_sum * sum + of_product * product;
    point += parameters_;
  }
}

}  // namespace wavetune::search
