// Which parameters of a space decide over the time, as far as the trials of one shape show it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "db/problem.h"

namespace wavetune::report {

struct ParameterShare {
  std::string name;
  double share = 0;  ///< 0 .. 1
};

/// Fewer ok trials than this say nothing.
inline constexpr std::size_t fewest_trials = 20;

/// Main effects: the share of the variance of log(time) that a parameter explains alone, i.e. that lies between the
/// groups of trials with the same value of it. Chance gives every grouping some of it; that part is taken off
/// (epsilon squared: (SS_between - (groups - 1) * MS_within) / SS_total, not below 0). Largest first; parameters with
/// one value in all trials are left out. Empty when there are fewer than `fewest_trials` or all times are equal.
///
/// The trials are a searcher's choice, not a random sample, and parameters that constraints tie together share an
/// effect: a large share is a hint where to look, not a proof.
std::vector<ParameterShare> main_effects(const std::vector<std::pair<db::Config, double>>& times_us);

}  // namespace wavetune::report
