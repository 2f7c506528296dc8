#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "db/commands/table.h"
#include "search/coverage/coverage_report.h"

namespace wavetune::search {
namespace {

using kernels::Match;
using nlohmann::json;

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::vector<db::Table::Column> with_matches(std::vector<db::Table::Column> columns) {
  for (const Match match : kernels::all_matches) columns.push_back({std::string(to_string(match)), db::Align::right});
  return columns;
}

std::string steps_text(const CoverageReport& report) {
  db::Table table(
      with_matches({{"step", db::Align::left}, {"time ms", db::Align::right}, {"measured", db::Align::right}}));
  for (const CoveredTime& time : report.steps) {
    std::vector<std::string> cells{time.step.name, fmt::format("{:.3f}", time.us / 1e3),
                                   percent(time.measured_us / time.us)};
    for (const double us : time.by_match) cells.push_back(percent(us / time.us));
    table.add(std::move(cells));
  }
  return table.text("");
}

std::string families_text(const CoverageReport& report) {
  std::vector<db::Table::Column> columns = with_matches({{"operator", db::Align::left}, {"shapes", db::Align::right}});
  columns.push_back({"of step time", db::Align::right});
  columns.push_back({"untuned", db::Align::right});
  db::Table table(columns);
  for (const FamilyTime& family : report.families) {
    std::vector<std::string> cells{
        family.name, fmt::format("{}", std::accumulate(family.shapes.begin(), family.shapes.end(), std::int64_t{0}))};
    for (const std::int64_t count : family.shapes) cells.push_back(fmt::format("{}", count));
    cells.push_back(percent(std::accumulate(family.share.begin(), family.share.end(), 0.0)));
    cells.push_back(percent(family.share[static_cast<std::size_t>(Match::nearest)] +
                            family.share[static_cast<std::size_t>(Match::fallback)]));
    table.add(std::move(cells));
  }
  return table.text("");
}

std::string worst_text(const CoverageReport& report, std::size_t most) {
  db::Table table({{"of step time", db::Align::right}, {"match"}, {"untuned shape"}, {"runs with the winner of"}});
  for (const CoveredShape& shape : report.shapes) {
    if (most == 0) break;
    if (shape.match == Match::exact || shape.match == Match::bucket || shape.share <= 0) continue;
    table.add({percent(shape.share), std::string(to_string(shape.match)), shape.problem.key(),
               shape.choice.from.empty() ? "its default configuration" : shape.choice.from});
    --most;
  }
  return table.empty() ? "" : "\n" + table.text("");
}

template <class T>
json by_match(const ByMatch<T>& values) {
  json object = json::object();
  for (const Match match : kernels::all_matches)
    object[std::string(to_string(match))] = values[static_cast<std::size_t>(match)];
  return object;
}

}  // namespace

std::string coverage_text(const CoverageReport& report, std::size_t most) {
  return steps_text(report) + "\n" + families_text(report) + worst_text(report, most);
}

json coverage_json(const CoverageReport& report) {
  json steps = json::array(), families = json::array(), shapes = json::array();
  for (const CoveredTime& time : report.steps) {
    steps.push_back({{"name", time.step.name},
                     {"tokens", time.step.shape.tokens},
                     {"samples", time.step.shape.samples},
                     {"context", time.step.shape.context},
                     {"us", time.us},
                     {"measured_us", time.measured_us},
                     {"us_by_match", by_match(time.by_match)}});
  }
  for (const FamilyTime& family : report.families) {
    families.push_back(
        {{"name", family.name}, {"shapes", by_match(family.shapes)}, {"time_share", by_match(family.share)}});
  }
  for (const CoveredShape& shape : report.shapes) {
    shapes.push_back({{"problem", shape.problem.key()},
                      {"lookup", shape.lookup.key()},
                      {"match", to_string(shape.match)},
                      {"from", shape.choice.from},
                      {"time_share", shape.share}});
  }
  return {{"counts", by_match(report.counts())},
          {"untuned_time_share", report.untuned_share()},
          {"steps", std::move(steps)},
          {"operators", std::move(families)},
          {"shapes", std::move(shapes)}};
}

}  // namespace wavetune::search
