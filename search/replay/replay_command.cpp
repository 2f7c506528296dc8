#include "search/replay/replay_command.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "db/base/command_line.h"
#include "db/base/error.h"
#include "db/base/file.h"
#include "search/replay/contest.h"
#include "search/replay/curves.h"
#include "search/replay/plot.h"
#include "search/replay/report.h"
#include "search/replay/traces_file.h"

namespace wavetune {
namespace {

namespace po = boost::program_options;
using namespace replay;
using Texts = std::vector<std::string>;

const CommandHelp help = {
    "replay",
    "replay --space T1.json --recording T4.json.gz [--strategy NAME ...] [--repeats 100] [OPTIONS]",
    "Runs search strategies on recorded spaces: the recording answers in place of a device, with the times that "
    "compiling,\n"
    "validating and running took. Prints each strategy's score by the method of Willemsen et al. (FGCS 2024): 0 is "
    "random\n"
    "search, 1 the optimum at once. Several spaces may be given; a T1 file belongs to the --recording at its place, or "
    "to\n"
    "all when it is the only one.",
    {"wavetune replay --space convolution_space_T1.json --recording convolution_MI250X_T4.json.gz",
     "wavetune replay --space conv.json --recording a_T4.json.gz --recording b_T4.json.gz --strategy random "
     "--strategy portfolio",
     "wavetune replay --space conv.json --recording a_T4.json.gz --traces kernel_tuner.csv --json",
     "wavetune replay --space dedisp.json --recording MI250X_T4.json.gz --racing both --duration 3"}};

Texts texts_of(const po::variables_map& values, const char* name) {
  return values.count(name) != 0 ? values[name].as<Texts>() : Texts();
}

int at_least(const po::variables_map& values, const char* name, int least) {
  const int value = values[name].as<int>();
  if (value < least) fail(ErrorKind::usage, "replay: --{} {} must be at least {}", name, value, least);
  return value;
}

std::vector<ScoredSpace> load_spaces(const po::variables_map& values) {
  const Texts t1 = texts_of(values, "space");
  const Texts t4 = texts_of(values, "recording");
  if (t1.empty() || t4.empty()) {
    fail(ErrorKind::usage, "replay needs --space and --recording; see 'wavetune replay --help'");
  }
  if (t1.size() != 1 && t1.size() != t4.size()) {
    fail(ErrorKind::usage, "replay: {} --space for {} --recording: give one for each, or one for all", t1.size(),
         t4.size());
  }
  const Coverage coverage = values["partial"].as<bool>() ? Coverage::partial : Coverage::complete;
  std::vector<ScoredSpace> spaces;
  for (std::size_t i = 0; i < t4.size(); ++i) {
    Recording recording = load_recording(t1.size() == 1 ? t1[0] : t1[i], t4[i], coverage);
    const auto same = std::find_if(spaces.begin(), spaces.end(), [&recording](const ScoredSpace& other) {
      return other.recording.name == recording.name;
    });
    if (same != spaces.end()) {
      fail(ErrorKind::usage, "replay: two recordings are called {}: give their files different names", recording.name);
    }
    spaces.push_back(scored_space(std::move(recording)));
  }
  return spaces;
}

/// Names are checked before anything is run.
Texts strategies_of(const po::variables_map& values) {
  Texts names = texts_of(values, "strategy");
  if (names.empty() && values.count("traces") == 0) names.emplace_back(search::default_strategy);
  const auto known = search::strategy_names();
  if (names.size() == 1 && names[0] == "all") return {known.begin(), known.end()};
  for (const std::string& name : names) search::require_strategy(name);
  return names;
}

std::vector<Runs> runs_of(const std::string& racing) {
  if (racing == "off") return {Runs::all};
  if (racing == "on") return {Runs::racing};
  if (racing == "both") return {Runs::all, Runs::racing};
  fail(ErrorKind::usage, "replay: --racing '{}' is unknown; it is on, off or both", racing);
}

ScoreBy score_by(const std::string& word) {
  if (word == "value") return ScoreBy::value;
  if (word == "rank") return ScoreBy::rank;
  fail(ErrorKind::usage, "replay: --score-by '{}' is unknown; it is value or rank", word);
}

void add_traces(const po::variables_map& values, const std::vector<ScoredSpace>& spaces, std::vector<Series>& series) {
  for (const std::string& file : texts_of(values, "traces")) {
    TracesFile traces = read_traces(file, spaces);
    for (const std::string& name : traces.other_spaces) {
      std::cerr << fmt::format("{}: runs on {} are left out: there is no recording of that name\n", file, name);
    }
    for (Series& one : traces.series) {
      const bool taken = std::any_of(series.begin(), series.end(), [&one](const Series& other) {
        return other.strategy == one.strategy && other.space == one.space;
      });
      if (taken) one.strategy += fmt::format(" ({})", std::filesystem::path(file).filename().string());
      series.push_back(std::move(one));
    }
  }
}

void add_options(po::options_description& options) {
  auto add = options.add_options();
  add("space", po::value<Texts>()->composing(), "T1 file: the parameters and their conditions");
  add("recording", po::value<Texts>()->composing(), "T4 file, plain or gzip: what each configuration took");
  add("strategy", po::value<Texts>()->composing(), "strategy to run, or 'all'; default: the one that tune uses");
  add("repeats", po::value<int>()->default_value(100), "runs of each strategy on each space");
  add("seed", po::value<std::uint64_t>()->default_value(1), "of all runs; the same seed gives the same runs");
  add("threads", po::value<int>()->default_value(0), "runs at a time; 0: one for each core");
  add("score-by", po::value<std::string>()->default_value("value"),
      "value: expected minimum and mean times, exactly; rank: mean ranks, as the method's authors compute it");
  add("racing", po::value<std::string>()->default_value("off")->implicit_value("on"),
      "on: take the recorded runs one by one and stop as a live tune does; both: with and without");
  add("duration", po::value<double>()->default_value(1.0),
      "of a run, in budgets; scores end at the budget all the same");
  add("partial", po::bool_switch(), "the recording holds only a part of the space: replay that part");
  add("traces", po::value<Texts>()->composing(),
      "CSV of somebody else's runs (space,strategy,repeat,time_s,value_ms) to score in the same table");
  add("json", po::bool_switch(), "one JSON object");
  add("csv", po::value<std::string>(), "file to write the best-so-far curves to, as a table");
  add("svg", po::value<std::string>(), "the same as a picture");
  add("html", po::value<std::string>(), "a page with the picture and the tables");
}

void write_curves(const po::variables_map& values, const std::vector<ScoredSpace>& spaces,
                  const std::vector<Series>& series, const Report& report) {
  if (values.count("csv") + values.count("svg") + values.count("html") == 0) return;
  const std::vector<Curve> curves = curves_of(spaces, series);
  const auto write = [&values](const char* option, const auto& content) {
    if (values.count(option) != 0) write_file_atomic(values[option].as<std::string>(), content());
  };
  write("csv", [&] { return curves_csv(spaces, curves); });
  write("svg", [&] { return curves_svg(spaces, curves); });
  write("html", [&] { return curves_html(curves_svg(spaces, curves), report_text(report)); });
}

}  // namespace

int replay_command(const std::vector<std::string>& arguments) {
  po::options_description options("Options");
  add_options(options);
  po::variables_map values;
  if (!parse_command_line(help, options, {}, arguments, values)) return 0;

  ContestOptions contest;
  contest.strategies = strategies_of(values);
  contest.runs = runs_of(values["racing"].as<std::string>());
  contest.repeats = at_least(values, "repeats", 1);
  contest.threads = at_least(values, "threads", 0);
  contest.seed = values["seed"].as<std::uint64_t>();
  contest.duration = values["duration"].as<double>();
  if (!std::isfinite(contest.duration) || contest.duration < 1) {
    fail(ErrorKind::usage, "replay: --duration {} must be at least 1", contest.duration);
  }
  const ScoreBy by = score_by(values["score-by"].as<std::string>());
  const std::vector<ScoredSpace> spaces = load_spaces(values);
  std::vector<Series> series = run_contest(spaces, contest);
  add_traces(values, spaces, series);
  const std::vector<Row> rows = standings(spaces, series, by, contest.threads);
  const bool racing =
      std::find(contest.runs.begin(), contest.runs.end(), Runs::racing) != contest.runs.end() && !series.empty();
  const Report report{spaces, rows, by, {}, contest.seed, contest.repeats, contest.duration, racing};
  write_curves(values, spaces, series, report);
  std::cout << (values["json"].as<bool>() ? report_json(report).dump(2) + "\n" : report_text(report));
  return 0;
}

}  // namespace wavetune
