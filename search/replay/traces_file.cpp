#include "search/replay/traces_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "db/base/error.h"
#include "db/base/file.h"
#include "search/measure/timing.h"

namespace wavetune::replay {
namespace {

constexpr std::string_view header = "space,strategy,repeat,time_s,value_ms";

/// Takes the file line by line and knows where it is.
class Reader {
 public:
  Reader(std::string_view text, const std::string& name, const std::vector<ScoredSpace>& spaces)
      : text_(text), name_(name), spaces_(spaces) {}

  TracesFile read() {
    if (next_line() != header) fail_here(fmt::format("the first line must be {}", header));
    while (!text_.empty()) {
      const std::string_view line = next_line();
      if (!line.empty()) take(columns_of(line));
    }
    for (Series& series : file_.series) {
      std::vector<double> evaluations;
      for (const Trace& trace : series.traces) evaluations.push_back(static_cast<double>(trace.size()));
      series.evaluations = measure::median(std::move(evaluations));
    }
    file_.other_spaces.assign(others_.begin(), others_.end());
    if (file_.series.empty()) {
      std::string known;
      for (const ScoredSpace& space : spaces_) known += (known.empty() ? "" : ", ") + space.recording.name;
      fail(ErrorKind::bad_data, "{}: no run in it is on one of the spaces given ({})", name_, known);
    }
    return std::move(file_);
  }

 private:
  using Columns = std::array<std::string_view, 5>;

  [[noreturn]] void fail_here(const std::string& what) const {
    fail(ErrorKind::bad_data, "{}: line {}: {}", name_, line_, what);
  }

  std::string_view next_line() {
    ++line_;
    const std::size_t end = text_.find('\n');
    std::string_view line = text_.substr(0, end);
    text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }

  Columns columns_of(std::string_view line) const {
    Columns columns;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::size_t end = line.find(',');
      if ((end == std::string_view::npos) != (i + 1 == columns.size())) {
        fail_here(fmt::format("there must be {} columns, {}", columns.size(), header));
      }
      columns[i] = line.substr(0, end);
      line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
    }
    return columns;
  }

  double number(std::string_view text, std::string_view column) const {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value < 0) {
      fail_here(fmt::format("'{}' is no {}", text, column));
    }
    return value;
  }

  void take(const Columns& columns) {
    if (columns != run_or(columns)) begin_run(columns);
    if (trace_ == nullptr) return;
    TracePoint point;
    point.time_s = number(columns[3], "time_s");
    if (!columns[4].empty()) point.best_ms = number(columns[4], "value_ms");
    if (!trace_->empty()) {
      const TracePoint& before = trace_->back();
      if (point.time_s < before.time_s) fail_here("time goes backwards in this run");
      if (before.best_ms && (!point.best_ms || *point.best_ms > *before.best_ms)) point.best_ms = before.best_ms;
    }
    trace_->push_back(point);
  }

  /// The columns with the present run's names in place of their own.
  Columns run_or(const Columns& columns) const { return {run_[0], run_[1], run_[2], columns[3], columns[4]}; }

  void begin_run(const Columns& columns) {
    run_ = columns;
    trace_ = nullptr;
    const auto [space, strategy, repeat, time, value] = columns;
    if (!seen_.emplace(space, strategy, repeat).second) {
      fail_here(fmt::format("repeat {} of {} on {} stands in two places", repeat, strategy, space));
    }
    const auto known = std::find_if(spaces_.begin(), spaces_.end(),
                                    [&](const ScoredSpace& one) { return one.recording.name == columns[0]; });
    if (known == spaces_.end()) {
      others_.emplace(space);
      return;
    }
    const auto place = series_.emplace(std::pair(std::string(space), std::string(strategy)), file_.series.size());
    if (place.second) {
      Series series;
      series.strategy = strategy;
      series.space = static_cast<std::size_t>(known - spaces_.begin());
      file_.series.push_back(std::move(series));
    }
    trace_ = &file_.series[place.first->second].traces.emplace_back();
  }

  std::string_view text_;
  const std::string& name_;
  const std::vector<ScoredSpace>& spaces_;
  int line_ = 0;
  Columns run_;
  Trace* trace_ = nullptr;  ///< of the present run; null when its space is not given
  std::set<std::tuple<std::string_view, std::string_view, std::string_view>> seen_;
  std::map<std::pair<std::string, std::string>, std::size_t> series_;
  std::set<std::string, std::less<>> others_;
  TracesFile file_;
};

}  // namespace

TracesFile traces_from_text(std::string_view text, const std::string& name, const std::vector<ScoredSpace>& spaces) {
  return Reader(text, name, spaces).read();
}

TracesFile read_traces(const std::filesystem::path& path, const std::vector<ScoredSpace>& spaces) {
  const std::string text = read_file(path);
  return traces_from_text(text, path.string(), spaces);
}

}  // namespace wavetune::replay
