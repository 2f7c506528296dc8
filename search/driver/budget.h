// Time for tuning, and how it is split over shapes.
#pragma once

#include <chrono>
#include <limits>
#include <string>
#include <vector>

namespace wavetune::search {

/// A budget covers a set of shapes, not a run: what earlier runs spent on them counts, so that the same command, given
/// again, goes on where it was stopped and is done when the budget is spent.
class Budget {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr double unlimited = std::numeric_limits<double>::infinity();

  /// `total_s` of which `spent_s` were spent by earlier runs. The clock of this run began at `start`.
  Budget(double total_s, double spent_s, Clock::time_point start = Clock::now());

  bool limited() const { return total_s_ != unlimited; }
  double total_s() const { return total_s_; }
  /// Seconds left; never negative.
  double left_s() const;
  /// Nothing is left: what is in flight is abandoned.
  bool spent() const { return limited() && left_s() <= 0; }
  /// Something is left that is worth a run: a twentieth of the total, which is what start-up and rounding of earlier
  /// runs may have cost unseen.
  bool worth_starting() const { return !limited() || left_s() >= 0.05 * total_s_; }
  /// Forgets up to `seconds` of what earlier runs spent.
  void grant(double seconds);

 private:
  double total_s_;
  double spent_s_;
  Clock::time_point start_;
};

/// Seconds for one shape of `weight` out of `left_s`, when shapes of `weights_left` in all (itself included) wait and
/// each of the `shapes_left` gets at least `floor_s` before the rest is split by weight. Unlimited when `left_s` is.
double slice_s(double left_s, double weight, double weights_left, int shapes_left, double floor_s);

/// Time that tuning runs took, from the creation times of their trials in order ("2026-11-30T12:00:00Z", fractions
/// allowed): the gaps between neighbours, leaving out gaps longer than a trial takes (the pauses between runs).
double spent_seconds(const std::vector<std::string>& created_at);

}  // namespace wavetune::search
