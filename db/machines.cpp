#include "db/machines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "db/rows.h"
#include "db/sqlite/statement.h"

namespace wavetune::db {
namespace {

/// log_us by machine, for each configuration that several measured.
using Shared = std::vector<std::map<std::string, double>>;

Shared shared_times(const std::vector<MachineTime>& times) {
  struct Mean {
    double sum = 0;
    int count = 0;
  };
  std::map<std::int64_t, std::map<std::string, Mean>> means;
  for (const MachineTime& time : times) {
    Mean& mean = means[time.measured][time.machine];
    mean.sum += time.log_us;
    ++mean.count;
  }
  Shared shared;
  for (const auto& [measured, by_machine] : means) {
    if (by_machine.size() < 2) continue;
    auto& row = shared.emplace_back();
    for (const auto& [machine, mean] : by_machine) row.emplace(machine, mean.sum / mean.count);
  }
  return shared;
}

MachineComparison compare(const std::string& machine, const Shared& shared, const std::set<std::string>& left_out) {
  std::vector<double> differences;
  for (const auto& row : shared) {
    const auto own = row.find(machine);
    if (own == row.end()) continue;
    double sum = 0;
    int others = 0;
    for (const auto& [other, log_us] : row) {
      if (other == machine || left_out.contains(other)) continue;
      sum += log_us;
      ++others;
    }
    if (others > 0) differences.push_back(own->second - sum / others);
  }
  MachineComparison result;
  result.machine = machine;
  result.common = static_cast<int>(differences.size());
  if (differences.empty()) return result;
  const double count = result.common;
  double mean = 0;
  for (const double difference : differences) mean += difference / count;
  double squares = 0;
  for (const double difference : differences) squares += (difference - mean) * (difference - mean);
  result.ratio = std::exp(mean);
  if (result.common > 1) result.standard_error = std::sqrt(squares / (count - 1) / count);
  result.deviates = result.common >= fewest_common && std::abs(mean) > std::log1p(tolerated) &&
                    std::abs(mean) > standard_errors * result.standard_error;
  return result;
}

/// Of two that are as far off, the slower one: a machine that is off is seldom too fast.
bool further_off(const MachineComparison& a, const MachineComparison& b) {
  const double distance_a = std::abs(std::log(a.ratio));
  const double distance_b = std::abs(std::log(b.ratio));
  // Two that have only each other differ by rounding.
  if (std::abs(distance_a - distance_b) > 1e-9) return distance_a > distance_b;
  return a.ratio > b.ratio;
}

/// A large database is mostly configurations that one machine measured: those are not kept in memory.
void drop_unshared(std::vector<MachineTime>& times, std::size_t first) {
  const bool shared = std::any_of(times.begin() + static_cast<std::ptrdiff_t>(first), times.end(),
                                  [&](const MachineTime& time) { return time.machine != times[first].machine; });
  if (!shared) times.resize(first);
}

}  // namespace

std::vector<MachineComparison> compare_machines(const std::vector<MachineTime>& times) {
  std::set<std::string> machines;
  for (const MachineTime& time : times) machines.insert(time.machine);
  const Shared shared = shared_times(times);
  std::map<std::string, MachineComparison> found;
  std::set<std::string> deviating;
  for (;;) {
    const MachineComparison* worst = nullptr;
    for (const std::string& machine : machines) {
      if (deviating.contains(machine)) continue;
      const MachineComparison& now = found[machine] = compare(machine, shared, deviating);
      if (now.deviates && (worst == nullptr || further_off(now, *worst))) worst = &now;
    }
    if (worst == nullptr) break;
    deviating.insert(worst->machine);
  }
  std::vector<MachineComparison> all;
  // Those that deviate are compared once more with the ones that do not, so that they do not excuse each other.
  for (auto& [machine, comparison] : found) {
    if (deviating.contains(machine)) {
      const MachineComparison again = compare(machine, shared, deviating);
      if (again.deviates) comparison = again;
    }
    all.push_back(std::move(comparison));
  }
  return all;
}

std::vector<Machine> count_by_machine(sqlite::Connection& connection) {
  std::vector<Machine> machines;
  sqlite::Statement counts(connection,
                           fmt::format("SELECT {}, m.machine, count(*), sum(m.outcome = 'ok') FROM measurements m "
                                       "JOIN environments e ON e.id = m.environment_id GROUP BY e.id, m.machine",
                                       EnvironmentColumns::names));
  while (counts.step()) {
    constexpr int at = EnvironmentColumns::count;
    machines.push_back(
        {EnvironmentColumns::read(counts, 0), counts.text(at), counts.integer(at + 1), counts.integer(at + 2), {}});
  }
  std::sort(machines.begin(), machines.end(), [](const Machine& a, const Machine& b) {
    return std::tie(a.environment, a.name) < std::tie(b.environment, b.name);
  });
  return machines;
}

std::vector<Machine> read_machines(sqlite::Connection& connection) {
  std::vector<Machine> machines = count_by_machine(connection);
  std::map<Environment, std::map<std::string, MachineComparison>> comparisons;
  for (const Machine& machine : machines) comparisons.try_emplace(machine.environment);
  for (auto& [environment, by_machine] : comparisons) {
    // In order of configuration: a change of the leading columns begins another one.
    sqlite::Statement query(connection,
                            "SELECT problem_id, source_id, configuration_id, machine, median_us FROM measurements "
                            "WHERE environment_id = ?1 AND outcome = 'ok' AND machine <> '' "
                            "ORDER BY problem_id, source_id, configuration_id");
    query.bind(find_environment(connection, environment));
    std::vector<MachineTime> times;
    std::size_t first = 0;  // of the configuration's times
    std::int64_t measured = 0;
    std::tuple<std::int64_t, std::int64_t, std::int64_t> last;
    while (query.step()) {
      const std::tuple now(query.integer(0), query.integer(1), query.integer(2));
      if (now != last) {
        drop_unshared(times, first);
        first = times.size();
        ++measured;
        last = now;
      }
      times.push_back({query.text(3), measured, std::log(query.real(4))});
    }
    for (MachineComparison& comparison : compare_machines(times)) {
      std::string name = comparison.machine;
      by_machine.emplace(std::move(name), std::move(comparison));
    }
  }
  for (Machine& machine : machines) {
    machine.against_others.machine = machine.name;
    const auto& by_machine = comparisons.at(machine.environment);
    if (const auto found = by_machine.find(machine.name); found != by_machine.end())
      machine.against_others = found->second;
  }
  return machines;
}

}  // namespace wavetune::db
