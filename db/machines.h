// Where trials were made, and whether the machines of a fleet agree: one that is throttled or has other firmware shows
// in what it measured of the configurations that others measured too.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/sqlite/connection.h"
#include "db/trial.h"

namespace wavetune::db {

/// What one machine took of one configuration.
struct MachineTime {
  std::string machine;
  std::int64_t measured = 0;  ///< which configuration: an operator's problem, parameter values and sources
  double log_us = 0;          ///< natural logarithm of the median; the mean of them when it was measured several times
};

/// A machine against the others.
struct MachineComparison {
  std::string machine;
  int common = 0;             ///< configurations that others measured too
  double ratio = 1;           ///< geometric mean of its times over those of the others; 1.1: it is 10 % slower
  double standard_error = 0;  ///< of ln(ratio)
  bool deviates = false;
};

/// A machine deviates when, over at least `fewest_common` configurations, its ratio to the others is off 1 by more than
/// `tolerated` and by more than `standard_errors` standard errors of the mean of its log ratios (a mean of independent
/// noise is that far off in about one of 370 cases).
inline constexpr int fewest_common = 5;
inline constexpr double tolerated = 0.03;
inline constexpr double standard_errors = 3;

/// One for each machine of `times`, by name. A time's reference is the mean of the logarithms of the other machines.
/// The machine that is furthest off is taken out of the reference of the others, and so on until none deviates: one
/// slow machine does not make the rest look fast. Of two that have only each other, the slower one is said to deviate.
std::vector<MachineComparison> compare_machines(const std::vector<MachineTime>& times);

/// A machine in an environment: machines compare only in the same one.
struct Machine {
  Environment environment;
  std::string name;  ///< empty: trials that do not say where they were made; they are not compared
  std::int64_t trials = 0;
  std::int64_t ok = 0;
  MachineComparison against_others;
};

/// How many trials each made, without the comparison. In order of environment and name.
std::vector<Machine> count_by_machine(sqlite::Connection& connection);
/// Same, compared over the ok trials of each environment, of all operators and sources.
std::vector<Machine> read_machines(sqlite::Connection& connection);

}  // namespace wavetune::db
