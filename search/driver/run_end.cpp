#include "search/driver/run_end.h"

#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>

namespace wavetune::search {

std::string failures_text(const Reporter& reporter) {
  std::string failures;
  for (const auto& [outcome, count] : reporter.outcomes()) {
    if (outcome != db::Outcome::ok) failures += fmt::format(", {} {}", count, db::to_string(outcome));
  }
  return failures;
}

namespace {

/// ", the device idle for 31% of it: 20% waiting for code, 2% for problems' data, 9% for the host's part of trials".
std::string idle_text(const TuneReport& report) {
  if (report.idle_share < 0) return "";
  return fmt::format(
      ", the device idle for {:.0f}% of it: {:.0f}% waiting for code, {:.0f}% for problems' data, {:.0f}% for the "
      "host's part of trials",
      100 * report.idle_share, 100 * report.unasked_share, 100 * report.preparing_share, 100 * report.trials_share);
}

}  // namespace

void report_end(const TuneReport& report, const Reporter& reporter, const std::string& database) {
  if (reporter.json()) {
    nlohmann::json event = {{"event", "end"},
                            {"interrupted", report.interrupted},
                            {"shapes", report.shapes},
                            {"finished", report.finished},
                            {"untouched", report.untouched},
                            {"trials", report.trials},
                            {"seconds", report.seconds}};
    if (report.idle_share >= 0) {
      event["device_idle_share"] = report.idle_share;
      event["device_waits"] = {
          {"compile", report.unasked_share}, {"prepare", report.preparing_share}, {"trials", report.trials_share}};
    }
    for (const auto& [outcome, count] : reporter.outcomes())
      event["outcomes"][std::string(db::to_string(outcome))] = count;
    std::cout << event.dump() << std::endl;
    return;
  }
  if (report.interrupted) {
    fmt::print(stderr, "interrupted: {} trials of this run are kept in {}; the same command goes on from there\n",
               report.trials, database);
  } else if (report.trials == 0) {
    fmt::print(stderr, "nothing to do: {} of {} shapes are finished{}\n", report.finished, report.shapes,
               report.finished < report.shapes ? ", and the budget is spent; give a larger --budget to go on" : "");
  } else {
    fmt::print(stderr, "{} trials in {} ({:.0f} a minute{}{}); {} of {} shapes are finished{}\n", report.trials,
               short_duration(report.seconds), 60.0 * static_cast<double>(report.trials) / report.seconds,
               failures_text(reporter), idle_text(report), report.finished, report.shapes,
               report.untouched > 0
                   ? fmt::format(", {} were not reached; give a larger --budget to go on", report.untouched)
                   : "");
  }
}

}  // namespace wavetune::search
