#include "search/driver/reporter.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "db/base/error.h"

namespace wavetune::search {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

constexpr std::chrono::milliseconds live_interval{200};
constexpr std::chrono::seconds plain_interval{10};

ReportStyle resolve(ReportStyle style) {
  if (style != ReportStyle::automatic) return style;
  return ::isatty(STDERR_FILENO) != 0 ? ReportStyle::live : ReportStyle::plain;
}

void print_error_line(const std::string& text) { (void)std::fprintf(stderr, "%s\n", text.c_str()); }

/// Best time with the part of the roofline that it reaches.
std::string against_roofline(double best_us, double roofline_us, bool predicted) {
  if (!(best_us > 0)) return "no time yet";
  const char* const word = predicted ? "predicted" : "best";
  if (!(roofline_us > 0)) return fmt::format("{} {:.4g} us", word, best_us);
  return fmt::format("{} {:.4g} us, roofline {:.3g} us ({:.0f} %)", word, best_us, roofline_us,
                     100 * roofline_us / best_us);
}

/// JSON has no infinity.
Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

}  // namespace

std::string short_duration(double seconds) {
  const auto whole = static_cast<long>(std::lround(seconds));
  if (whole < 120) return fmt::format("{} s", whole);
  if (whole < 7200) return fmt::format("{} min", (whole + 30) / 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

Reporter::Reporter(ReportStyle style) : style_(resolve(style)) {}
Reporter::~Reporter() { finish(); }

void Reporter::print_json(const std::string& text) {
  (void)std::printf("%s\n", text.c_str());
  (void)std::fflush(stdout);
}

void Reporter::start(const Start& start) {
  const std::lock_guard lock(mutex_);
  shapes_ = start.shapes;
  offline_ = start.offline;
  if (style_ == ReportStyle::json) {
    print_json(Json{{"event", "start"},
                    {"offline", start.offline},
                    {"shapes", start.shapes},
                    {"trials_kept", start.trials_kept},
                    {"device", start.device},
                    {"budget_left_s", number_or_null(start.budget_left_s)},
                    {"database", start.database}}
                   .dump());
  } else if (style_ != ReportStyle::quiet) {
    const std::string time =
        std::isfinite(start.budget_left_s) ? short_duration(start.budget_left_s) + " to go" : "no time limit";
    print_error_line(fmt::format("{} {} operator shapes {} {} into {}: {} trials of earlier runs count, {}",
                                 start.offline ? "compiling" : "tuning", start.shapes, start.offline ? "for" : "on",
                                 start.device, start.database, start.trials_kept, time));
  }
}

std::string Reporter::status_line() const {
  std::int64_t tried = 0;
  std::string failed;
  for (const auto& [outcome, count] : outcomes_) {
    tried += count;
    if (outcome != db::Outcome::ok)
      failed += fmt::format("{}{} {}", failed.empty() ? "" : ", ", count, db::to_string(outcome));
  }
  const double minutes = std::chrono::duration<double>(Clock::now() - begin_).count() / 60;
  std::string line = fmt::format("[{}/{} shapes] {} tried", shapes_seen_.size(), shapes_, tried);
  if (!failed.empty()) line += " (" + failed + ")";
  if (minutes > 0.05) line += fmt::format(", {:.0f}/min", static_cast<double>(tried) / minutes);
  if (seconds_left_ >= 0) line += ", " + short_duration(seconds_left_) + " left";
  if (!current_.empty()) line += " | " + current_ + ": " + against_roofline(best_us_, roofline_us_, offline_);
  return line;
}

void Reporter::clear_line() {
  if (line_shown_) (void)std::fputs("\r\x1b[K", stderr);
  line_shown_ = false;
}

void Reporter::show_status(bool always) {
  const Clock::time_point now = Clock::now();
  if (style_ == ReportStyle::live) {
    if (!always && now - last_shown_ < live_interval) return;
    // A terminal of unknown width: longer lines would wrap and not be rewritten.
    std::string line = status_line();
    if (line.size() > 150) line = line.substr(0, 147) + "...";
    (void)std::fprintf(stderr, "\r\x1b[K%s", line.c_str());
    (void)std::fflush(stderr);
    line_shown_ = true;
  } else if (style_ == ReportStyle::plain) {
    if (now - last_shown_ < plain_interval) return;
    print_error_line(status_line());
  }
  last_shown_ = now;
}

void Reporter::remember(db::Outcome outcome, std::string problem, double best_us, double roofline_us,
                        double seconds_left) {
  ++outcomes_[outcome];
  current_ = std::move(problem);
  best_us_ = best_us;
  roofline_us_ = roofline_us;
  seconds_left_ = seconds_left;
}

void Reporter::trial(const db::Trial& trial, double best_us, double roofline_us, double seconds_left) {
  {
    const std::lock_guard lock(mutex_);
    remember(trial.outcome, trial.problem.key(), best_us, roofline_us, seconds_left);
    if (style_ == ReportStyle::json) {
      Json event = {{"event", "trial"},
                    {"problem", current_},
                    {"config", db::to_text(trial.config)},
                    {"outcome", db::to_string(trial.outcome)},
                    {"compile_ms", trial.compile_ms}};
      if (trial.outcome == db::Outcome::ok) event["median_us"] = trial.median_us;
      if (!trial.error.empty()) event["error"] = trial.error;
      if (best_us > 0) event["best_us"] = best_us;
      print_json(event.dump(-1, ' ', false, Json::error_handler_t::replace));
    } else {
      show_status(false);
    }
  }
  if (after_trials_) after_trials_();
}

void Reporter::compiled(const db::OfflineTrial& trial, double best_us, double roofline_us, double seconds_left) {
  {
    const std::lock_guard lock(mutex_);
    remember(trial.outcome, trial.problem.key(), best_us, roofline_us, seconds_left);
    if (style_ == ReportStyle::json) {
      Json event = {{"event", "compiled"},
                    {"problem", current_},
                    {"config", db::to_text(trial.config)},
                    {"outcome", db::to_string(trial.outcome)},
                    {"predicted_us", trial.predicted_us},
                    {"compile_ms", trial.compile_ms}};
      if (trial.resources.vgpr) event["vgpr"] = *trial.resources.vgpr;
      if (trial.resources.occupancy) event["waves_per_simd"] = *trial.resources.occupancy;
      if (!trial.error.empty()) event["error"] = trial.error;
      print_json(event.dump(-1, ' ', false, Json::error_handler_t::replace));
    } else {
      show_status(false);
    }
  }
  if (after_trials_) after_trials_();
}

void Reporter::shape(const Shape& shape) {
  const std::lock_guard lock(mutex_);
  shapes_seen_.insert(shape.key);
  if (style_ == ReportStyle::json) {
    Json event = {{"event", "shape"},           {"problem", shape.key},
                  {"trials", shape.trials},     {"new_trials", shape.new_trials},
                  {"finished", shape.finished}, {"roofline_us", shape.roofline_us}};
    if (shape.best_us > 0) event.update({{"best_us", shape.best_us}, {"best_config", shape.best_config}});
    print_json(event.dump());
  } else if (shape.new_trials > 0) {
    show_status(true);
  }
}

void Reporter::warning(const std::string& text) {
  const std::lock_guard lock(mutex_);
  clear_line();
  if (style_ == ReportStyle::json) {
    print_json(Json{{"event", "warning"}, {"text", text}}.dump(-1, ' ', false, Json::error_handler_t::replace));
  } else {
    print_error_line("warning: " + text);
  }
}

void Reporter::note(const std::string& text) {
  const std::lock_guard lock(mutex_);
  clear_line();
  if (style_ != ReportStyle::json && style_ != ReportStyle::quiet) print_error_line(text);
}

void Reporter::finish() {
  const std::lock_guard lock(mutex_);
  clear_line();
  (void)std::fflush(stderr);
}

std::int64_t Reporter::trials() const {
  const std::lock_guard lock(mutex_);
  std::int64_t count = 0;
  for (const auto& [outcome, number] : outcomes_) count += number;
  return count;
}

std::map<db::Outcome, std::int64_t> Reporter::outcomes() const {
  const std::lock_guard lock(mutex_);
  return outcomes_;
}

}  // namespace wavetune::search
