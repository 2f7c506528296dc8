// What a tuning report shows, taken from the database.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "db/database.h"
#include "search/report/importance.h"

namespace wavetune::report {

/// What the database does not hold.
struct ShapeFacts {
  std::optional<double> roofline_us = {};
  std::string roofline_source = {};  ///< "peak rates measured on this device"
  std::optional<db::Config> default_config = {};
};
using FactsOf = std::function<ShapeFacts(const db::Environment&, const db::Problem&)>;

struct TimeSpent {
  double compile_s = 0;  ///< of all compiles; several run at a time
  double kernel_s = 0;   ///< inside timed launches
  double wall_s = 0;     ///< between a trial and the one stored before it, pauses left out

  TimeSpent& operator+=(const TimeSpent& other);
};

using Outcomes = std::map<db::Outcome, std::int64_t>;

struct ShapeReport {
  db::Environment environment;
  db::Problem problem;
  ShapeFacts facts;
  std::vector<double> times_us;  ///< of each trial in order; 0: it failed
  Outcomes outcomes;
  std::map<db::Outcome, std::string> errors;  ///< the first one of each kind
  TimeSpent spent;
  double best_us = 0;  ///< 0: nothing ok
  db::Config best;
  double default_us = 0;  ///< of the default configuration; 0: unknown or not ok
  std::size_t ok = 0;
  std::vector<ParameterShare> importance;
};

struct ReportData {
  std::string database;
  std::string made_at;                       ///< ISO 8601 UTC
  std::vector<ShapeReport> shapes;           ///< by environment, then in order of their first trial
  std::map<std::string, Outcomes> outcomes;  ///< by operator and number format
  TimeSpent spent;
  std::int64_t trials = 0;
  std::int64_t other_sources = 0;  ///< trials of templates that have changed since: they do not count
};

struct ReportFilter {
  std::vector<std::string> ops;                ///< "gemm" or "gemm_bf16"; empty: all
  std::optional<db::Environment> environment;  ///< nothing: all
};

ReportData collect(const db::Database& database, const ReportFilter& filter, const FactsOf& facts);

}  // namespace wavetune::report
