#include "search/report/report_data.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "db/base/time.h"
#include "search/driver/budget.h"

namespace wavetune::report {
namespace {

bool wanted(const ReportFilter& filter, const db::Problem& problem) {
  return filter.ops.empty() || std::any_of(filter.ops.begin(), filter.ops.end(), [&](const std::string& name) {
           return name == problem.op || name == problem.op + "_" + problem.dtype;
         });
}

/// A shape while its trials are read.
struct Reading {
  ShapeReport shape;
  std::vector<std::pair<db::Config, double>> ok;
  std::map<db::Config, std::size_t> places;  ///< in `ok`
};

/// A finalist that was timed again: its newest time counts.
void replace_time(Reading& reading, std::size_t place, double median_us) {
  ShapeReport& shape = reading.shape;
  reading.ok[place].second = median_us;
  const auto best = std::ranges::min_element(reading.ok, {}, &std::pair<db::Config, double>::second);
  shape.best = best->first;
  shape.best_us = best->second;
  if (shape.facts.default_config && reading.ok[place].first == *shape.facts.default_config)
    shape.default_us = median_us;
}

void add(Reading& reading, const db::Trial& trial, const std::string& stored_before) {
  ShapeReport& shape = reading.shape;
  const bool ok = trial.outcome == db::Outcome::ok;
  shape.spent.compile_s += trial.compile_ms / 1000;
  for (const double sample : trial.samples_us) shape.spent.kernel_s += sample * 1e-6;
  shape.spent.wall_s += search::spent_seconds({stored_before, trial.created_at});
  if (const auto known = reading.places.find(trial.config); ok && known != reading.places.end())
    return replace_time(reading, known->second, trial.median_us);
  shape.times_us.push_back(ok ? trial.median_us : 0);
  ++shape.outcomes[trial.outcome];
  if (!ok) shape.errors.try_emplace(trial.outcome, trial.error);
  if (!ok) return;
  reading.places.emplace(trial.config, reading.ok.size());
  reading.ok.emplace_back(trial.config, trial.median_us);
  if (shape.facts.default_config && trial.config == *shape.facts.default_config) shape.default_us = trial.median_us;
  if (shape.best_us > 0 && trial.median_us >= shape.best_us) return;
  shape.best_us = trial.median_us;
  shape.best = trial.config;
}

}  // namespace

TimeSpent& TimeSpent::operator+=(const TimeSpent& other) {
  compile_s += other.compile_s;
  kernel_s += other.kernel_s;
  wall_s += other.wall_s;
  return *this;
}

ReportData collect(const db::Database& database, const ReportFilter& filter, const FactsOf& facts) {
  ReportData data;
  data.database = database.path().string();
  data.made_at = utc_now();
  std::map<std::string, std::string, std::less<>> current;
  for (auto& [op, hash] : database.sources()) current.emplace(op, hash);
  std::vector<Reading> readings;
  std::map<std::pair<db::Environment, db::Problem>, std::size_t> index;
  std::map<db::Environment, std::string> stored_before;
  db::TrialFilter trials;
  trials.environment = filter.environment;
  database.visit_trials(trials, [&](const db::StoredTrial& stored) {
    const db::Trial& trial = stored.trial;
    // The clock goes on with trials that are not shown.
    const std::string before = std::exchange(stored_before[stored.environment], trial.created_at);
    if (!wanted(filter, trial.problem)) return;
    const auto source = current.find(trial.problem.op);
    if (source != current.end() && source->second != trial.source_hash) {
      ++data.other_sources;
      return;
    }
    const auto [at, is_new] = index.try_emplace({stored.environment, trial.problem}, readings.size());
    if (is_new) {
      Reading& reading = readings.emplace_back();
      reading.shape.environment = stored.environment;
      reading.shape.problem = trial.problem;
      reading.shape.facts = facts(stored.environment, trial.problem);
    }
    add(readings[at->second], trial, before);
    ++data.trials;
  });
  for (Reading& reading : readings) {
    ShapeReport& shape = reading.shape;
    shape.ok = reading.ok.size();
    shape.importance = main_effects(reading.ok);
    Outcomes& outcomes = data.outcomes[shape.problem.op + "/" + shape.problem.dtype];
    for (const auto& [outcome, count] : shape.outcomes) outcomes[outcome] += count;
    data.spent += shape.spent;
    data.shapes.push_back(std::move(shape));
  }
  std::stable_sort(data.shapes.begin(), data.shapes.end(),
                   [](const ShapeReport& a, const ShapeReport& b) { return a.environment < b.environment; });
  return data;
}

}  // namespace wavetune::report
