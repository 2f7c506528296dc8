// What a tuning run says while it goes on: a live line on a terminal, plain lines elsewhere, or JSON lines for
// machines.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "db/offline_trial.h"
#include "db/trial.h"

namespace wavetune::search {

enum class ReportStyle {
  automatic,  ///< live on a terminal, plain elsewhere
  live,       ///< one line on standard error that is rewritten
  plain,      ///< a line on standard error every ten seconds and for each shape that is finished
  json,       ///< one JSON object a line on standard output for each event
  quiet,      ///< warnings only
};

/// Thread-safe.
class Reporter {
 public:
  explicit Reporter(ReportStyle style);
  ~Reporter();

  struct Start {
    int shapes = 0;
    int trials_kept = 0;  ///< of earlier runs, that count here
    double budget_left_s = 0;
    std::string device;
    std::string database;
    bool offline = false;  ///< times are predicted; `device` is an architecture
  };
  void start(const Start& start);

  /// `seconds_left` is the driver's estimate, negative when it has none.
  void trial(const db::Trial& trial, double best_us, double roofline_us, double seconds_left);

  /// A configuration that was compiled and not run.
  void compiled(const db::OfflineTrial& trial, double best_us, double roofline_us, double seconds_left);

  struct Shape {
    std::string key;
    int trials = 0;         ///< in all runs
    int new_trials = 0;     ///< in this one
    bool finished = false;  ///< nothing is left to try, or the cap on trials is reached
    double best_us = 0;
    double roofline_us = 0;
    std::string best_config;
  };
  void shape(const Shape& shape);
  void warning(const std::string& text);
  /// A plain line that does not belong to the stream of events (not shown in `json` and `quiet`).
  void note(const std::string& text);
  /// Takes the live line away.
  void finish();

  /// `call` is made after each trial() and compiled(), by the thread that reported it.
  void after_trials(std::function<void()> call) { after_trials_ = std::move(call); }

  bool json() const { return style_ == ReportStyle::json; }
  std::int64_t trials() const;
  std::map<db::Outcome, std::int64_t> outcomes() const;

 private:
  std::string status_line() const;
  /// What the status line says from now on.
  void remember(db::Outcome outcome, std::string problem, double best_us, double roofline_us, double seconds_left);
  void show_status(bool always);
  void clear_line();
  void print_json(const std::string& text);

  ReportStyle style_;
  std::function<void()> after_trials_;
  mutable std::mutex mutex_;
  std::map<db::Outcome, std::int64_t> outcomes_;
  int shapes_ = 0;
  bool offline_ = false;
  std::set<std::string> shapes_seen_;  ///< finished before, or tuned for a while in this run
  std::string current_;
  double best_us_ = 0;
  double roofline_us_ = 0;
  double seconds_left_ = -1;
  bool line_shown_ = false;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_shown_{};
};

/// "95 s", "12 min", "3 h 05 min".
std::string short_duration(double seconds);

}  // namespace wavetune::search
