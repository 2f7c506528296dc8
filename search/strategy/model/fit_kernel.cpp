#include "search/strategy/model/fit_kernel.h"

#include <algorithm>
#include <cmath>

namespace wavetune::search {
namespace {

// The preference for the defaults: one e-fold of a length costs so much log likelihood, and so much one step in powers
// of two.
constexpr double length_prior = 0.1;
constexpr double alignment_prior = 0.3;
constexpr int sweeps = 2;
constexpr double shortest_length = 0.05;
constexpr double longest_length = 20;  // the parameter does not matter

class Likelihood {
 public:
  Likelihood(Kernel& kernel, std::span<const Point> points, std::span<const double> values)
      : kernel_(kernel), points_(points), values_(values), matrix_(points.size() * points.size()) {}

  /// Negative, up to a constant, with the prior.
  double operator()() {
    const std::size_t n = points_.size();
    solved_.assign(values_.begin(), values_.end());
    double log_determinant = 0;
    double sum_of_squares = 0;
    for (std::size_t i = 0; i < n; ++i) {
      double* row = &matrix_[i * n];
      double diagonal = 1 + kernel_.settings().noise;
      double residual = values_[i];
      for (std::size_t j = 0; j < i; ++j) {
        const double* other = &matrix_[j * n];
        double sum = kernel_(points_[i], points_[j]);
        for (std::size_t c = 0; c < j; ++c) sum -= row[c] * other[c];
        row[j] = sum / other[j];
        diagonal -= row[j] * row[j];
        residual -= row[j] * solved_[j];
      }
      row[i] = std::sqrt(std::max(diagonal, 1e-9));
      solved_[i] = residual / row[i];
      log_determinant += std::log(row[i]);
      sum_of_squares += solved_[i] * solved_[i];
    }
    const auto count = static_cast<double>(n);
    return 0.5 * count * std::log(std::max(sum_of_squares, 1e-12) / count) + log_determinant + prior();
  }

 private:
  double prior() const {
    double sum = 0;
    for (const double length : kernel_.settings().length) sum += length_prior * std::log(length) * std::log(length);
    for (const double alignment : kernel_.settings().alignment) sum += alignment_prior * alignment;
    return sum;
  }

  Kernel& kernel_;
  std::span<const Point> points_;
  std::span<const double> values_;
  std::vector<double> matrix_;
  std::vector<double> solved_;
};

}  // namespace

void fit_kernel(Kernel& kernel, std::span<const Point> points, std::span<const double> values) {
  Likelihood likelihood(kernel, points, values);
  double best = likelihood();
  // Tries one change; `back` undoes it.
  const auto attempt = [&](const auto& change, const auto& back) {
    change();
    const double changed = likelihood();
    if (changed < best) {
      best = changed;
    } else {
      back();
    }
  };
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    for (std::size_t d = 0; d < kernel.active().size(); ++d) {
      for (const double factor : {0.5, 2.0}) {
        const double before = kernel.settings().length[d];
        attempt([&] { kernel.set_length(d, std::clamp(before * factor, shortest_length, longest_length)); },
                [&] { kernel.set_length(d, before); });
      }
      if (!kernel.has_alignment(d)) continue;
      for (const double alignment : {0.0, 0.1, 0.3, 0.8}) {
        const double before = kernel.settings().alignment[d];
        if (alignment == before) continue;
        attempt([&] { kernel.set_alignment(d, alignment); }, [&] { kernel.set_alignment(d, before); });
      }
    }
    for (const double additive : {0.0, 0.2, 0.5, 0.8}) {
      const double before = kernel.settings().additive;
      attempt([&] { kernel.set_additive(additive); }, [&] { kernel.set_additive(before); });
    }
    for (const double noise : {1e-4, 1e-3, 1e-2, 1e-1}) {
      const double before = kernel.settings().noise;
      attempt([&] { kernel.set_noise(noise); }, [&] { kernel.set_noise(before); });
    }
  }
}

}  // namespace wavetune::search
