#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "db/commands/table.h"
#include "search/replay/report.h"

namespace wavetune::replay {
namespace {

/// Names of columns: a, b, ..., z, then numbers.
std::string column_of(std::size_t space) {
  return space < 26 ? std::string(1, static_cast<char>('a' + space)) : fmt::format("{}", space + 1);
}

/// A column of names, then columns of figures, all of them to the right.
db::Table table_of(const std::vector<std::string>& header) {
  std::vector<db::Table::Column> columns;
  for (const std::string& title : header) {
    const bool first = columns.empty();
    columns.push_back({title, first ? db::Align::left : db::Align::right});
  }
  return db::Table(std::move(columns));
}

constexpr const char* indent = "  ";

std::string score_text(const Estimate& score) {
  if (score.resampled.empty()) return fmt::format("{:.2f}", score.value);
  return fmt::format("{:.2f} ±{:.2f}", score.value, (score.high() - score.low()) / 2);
}

std::string mean_text(const std::optional<Estimate>& score) {
  if (!score) return "-";
  if (score->resampled.empty()) return fmt::format("{:.3f}", score->value);
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", score->value, score->low(), score->high());
}

std::string seconds_text(double seconds) { return std::isfinite(seconds) ? fmt::format("{:.4g}", seconds) : "-"; }

std::string spaces_text(const Report& report) {
  db::Table table = table_of(
      {"", "space", "configurations", "failed", "optimum ms", "median", "within 5 %", "budget s", "evaluations"});
  for (std::size_t i = 0; i < report.spaces.size(); ++i) {
    const SpaceStatistics& space = report.spaces[i].statistics;
    const auto near = std::upper_bound(space.ascending_ms.begin(), space.ascending_ms.end(), space.optimum_ms * 1.05) -
                      space.ascending_ms.begin();
    table.add({column_of(i), report.spaces[i].recording.name, fmt::format("{}", space.size),
               fmt::format("{}", space.size - space.ascending_ms.size()), fmt::format("{:.4g}", space.optimum_ms),
               fmt::format("{:.2f}x", space.median_ms / space.optimum_ms), fmt::format("{}", near),
               fmt::format("{:.0f}", space.budget_s), fmt::format("{}", space.evaluations)});
  }
  return table.text(indent);
}

std::string scores_text(const Report& report) {
  std::vector<std::string> header = {"strategy", "mean over spaces"};
  for (std::size_t i = 0; i < report.spaces.size(); ++i) header.push_back(column_of(i));
  header.insert(header.end(), {"repeats", "us a proposal"});
  db::Table table = table_of(header);
  for (const Row& row : report.rows) {
    std::vector<std::string> line = {row.strategy,
                                     mean_text(report.by == ScoreBy::value ? row.mean_by_value : row.mean_by_rank)};
    std::size_t repeats = 0;
    double slowest_us = -1;
    for (const auto& cell : row.cells) {
      line.push_back(cell ? score_text(report.by == ScoreBy::value ? cell->by_value : cell->by_rank) : "-");
      if (cell) repeats = std::max(repeats, cell->repeats);
      if (cell && cell->proposal_us) slowest_us = std::max(slowest_us, *cell->proposal_us);
    }
    line.push_back(fmt::format("{}", repeats));
    line.push_back(slowest_us < 0 ? "" : fmt::format("{:.3g}", slowest_us));
    table.add(std::move(line));
  }
  return table.text(indent);
}

std::string arrivals_text(const Report& report) {
  std::vector<std::string> header = {"strategy"};
  for (std::size_t i = 0; i < report.spaces.size(); ++i) header.push_back(column_of(i));
  db::Table table = table_of(header);
  for (const Row& row : report.rows) {
    std::vector<std::string> line = {row.strategy};
    for (const auto& cell : row.cells) line.push_back(cell ? seconds_text(cell->within_5_percent_s) : "-");
    table.add(std::move(line));
  }
  return table.text(indent);
}

const Row* raced(const Report& report, const Row& row) {
  const std::string wanted = label_of(row.strategy, Runs::racing);
  const auto found = std::find_if(report.rows.begin(), report.rows.end(),
                                  [&wanted](const Row& other) { return other.strategy == wanted; });
  return found == report.rows.end() ? nullptr : &*found;
}

/// How much sooner racing comes within 5 %, where a strategy was run in both ways.
std::string racing_text(const Report& report) {
  std::vector<std::string> header = {"strategy"};
  for (std::size_t i = 0; i < report.spaces.size(); ++i) header.push_back(column_of(i));
  db::Table table = table_of(header);
  bool any = false;
  for (const Row& row : report.rows) {
    const Row* other = raced(report, row);
    if (other == nullptr) continue;
    any = true;
    std::vector<std::string> line = {row.strategy};
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const bool both = row.cells[i] && other->cells[i] && std::isfinite(row.cells[i]->within_5_percent_s) &&
                        std::isfinite(other->cells[i]->within_5_percent_s);
      line.push_back(!both ? "-"
                           : fmt::format("{:.2f}x ({:.1f} runs instead of {:.1f})",
                                         row.cells[i]->within_5_percent_s / other->cells[i]->within_5_percent_s,
                                         other->cells[i]->device_runs, row.cells[i]->device_runs));
    }
    table.add(std::move(line));
  }
  if (!any) return "";
  return "\nRacing: so much sooner within 5 % of the optimum (kernel runs for one evaluation, mean)\n" +
         table.text(indent);
}

}  // namespace

std::string report_text(const Report& report) {
  std::string text = spaces_text(report);
  text += fmt::format("\nScore: 0 is random search, 1 the optimum at once; {}; 95 % intervals from the repeats\n{}",
                      report.by == ScoreBy::value ? "expected minimum and mean times, exactly"
                                                  : "mean ranks, as the method's authors compute it",
                      scores_text(report));
  if (report.racing) {
    text +=
        "  Racing changes what a trial costs: these scores cannot be compared with published ones, nor with rows that "
        "do not race.\n";
  }
  text += fmt::format("\nSeconds until half of the runs were within 5 % of the optimum (-: not in {:.4g} budgets)\n{}",
                      report.duration, arrivals_text(report));
  return text + racing_text(report);
}

}  // namespace wavetune::replay
