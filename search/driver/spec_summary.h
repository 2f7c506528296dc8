// What became of the configurations of a kernel from outside.
#pragma once

#include <map>
#include <string>

#include "db/database.h"
#include "search/measure/peak_run.h"
#include "templates/t1/spec_operator.h"

namespace wavetune::search {

struct SpecSummary {
  int tried = 0;
  int ok = 0;
  std::map<db::Outcome, int> outcomes;
  std::map<db::Outcome, std::string> first_error;  ///< and with which configuration
  double best_us = 0;
  std::string best;        ///< configuration, in the T1 file's values
  double default_us = 0;   ///< 0: not timed
  std::string usual;       ///< the default configuration
  double roofline_us = 0;  ///< 0: the file has no Cost
};

/// Of all trials of the operator's problem with its present sources, whenever they were made.
SpecSummary spec_summary(const templates::SpecOperator& op, const db::Database& database,
                         const db::Environment& environment, const measure::DevicePeak& peak);

/// For people: several lines.
std::string spec_text(const templates::SpecOperator& op, const SpecSummary& summary);
/// One JSON line.
std::string spec_event(const SpecSummary& summary);
/// What to say when summary.ok is 0.
std::string without_winner(const templates::SpecOperator& op, const SpecSummary& summary);

}  // namespace wavetune::search
