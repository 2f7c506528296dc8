#include "search/offline/offline_command.h"

#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "db/base/command_line.h"
#include "db/base/error.h"
#include "search/driver/interrupt.h"
#include "search/driver/model_tasks.h"
#include "search/driver/shard.h"
#include "search/driver/weight_formats.h"
#include "search/layout/workload_options.h"
#include "search/offline/offline_tuner.h"

namespace wavetune::search {
namespace {

namespace po = boost::program_options;

constexpr std::size_t shown_shapes = 25;
// Of the node that the shortlist is for: MI355X and H200 platforms hold eight.
constexpr int usual_node_devices = 8;

void report_end(const OfflineReport& report, const Reporter& reporter, const std::string& database) {
  if (reporter.json()) {
    nlohmann::json event = {{"event", "end"},
                            {"offline", true},
                            {"interrupted", report.interrupted},
                            {"shapes", report.shapes},
                            {"finished", report.complete},
                            {"untouched", report.untouched},
                            {"trials", report.compiled},
                            {"kept", report.kept},
                            {"seconds", report.seconds}};
    for (const auto& [outcome, count] : reporter.outcomes())
      event["outcomes"][std::string(db::to_string(outcome))] = count;
    std::cout << event.dump() << std::endl;
    return;
  }
  std::string left_out;
  for (const auto& [outcome, count] : reporter.outcomes()) {
    if (outcome != db::Outcome::ok) left_out += fmt::format(", {} {}", count, db::to_string(outcome));
  }
  if (report.interrupted) {
    fmt::print(stderr,
               "interrupted: {} configurations of this run are kept in {}; the same command goes on from there\n",
               report.compiled, database);
  } else if (report.compiled == 0) {
    fmt::print(stderr, "nothing to do: {} of {} shapes are complete{}\n", report.complete, report.shapes,
               report.complete < report.shapes ? ", and the budget is spent; give a larger --budget to go on" : "");
  } else {
    fmt::print(stderr, "{} configurations compiled in {} ({} kept{}); {} of {} shapes are complete{}\n",
               report.compiled, short_duration(report.seconds), report.kept, left_out, report.complete, report.shapes,
               report.complete < report.shapes ? "; give a larger --budget to go on" : "");
  }
}

OfflineOptions options_of(const po::variables_map& values) {
  OfflineOptions options;
  const auto budget = values["budget"].as<std::string>();
  if (budget != "none") options.budget_s = parse_duration_seconds(budget, "--budget");
  options.shortlist = values["shortlist"].as<int>();
  if (options.shortlist < 1) fail(ErrorKind::usage, "--shortlist {} must be at least 1", options.shortlist);
  options.compile.workers = values["workers"].as<int>();
  return options;
}

std::vector<TuneTask> tasks_of(const po::variables_map& values, std::string_view arch) {
  const model::ModelConfig config = model::resolve_model(values["model"].as<std::string>());
  const WorkloadChoice choice = read_workload_options(values, config, hip::ProviderKind::amd);
  const int devices = choice.node_devices > 0 ? choice.node_devices : usual_node_devices;
  for (const int tp : choice.tp) {
    if (devices % tp != 0) fail(ErrorKind::usage, "--tp {} does not divide the {} GPUs of a node", tp, devices);
  }
  const auto layouts = candidate_layouts(config, devices, choice.tp, choice.workload);
  const std::vector<std::string> names =
      values.count("op") != 0 ? split_list(values["op"].as<std::string>()) : std::vector<std::string>{};
  std::vector<TuneTask> tasks = filter_tasks(
      in_formats(model_tasks(layouts, choice.workload, data_sheet_peak(arch)), read_weight_formats(values)), names);
  if (const auto shard = read_shard(values)) {
    const std::vector<db::Problem> problems = problems_of(*shard, tasks);
    tasks = only(std::move(tasks), problems);
  }
  return tasks;
}

}  // namespace

void add_offline_options(po::options_description& options) {
  options.add_options()(
      "offline", po::bool_switch(),
      "no device and no weights: compile, leave out what spills or does not fit, rank by the analytic "
      "model, keep a shortlist for each shape that 'tune' measures first")(
      "arch", po::value<std::string>(), "what --offline compiles for: gfx950 (default), gfx942 or sm_90a")(
      "shortlist", po::value<int>()->default_value(12), "configurations that --offline keeps for each shape");
}

void refuse_offline_options(const po::variables_map& values) {
  for (const char* name : {"arch", "shortlist"}) {
    if (values.count(name) != 0 && !values[name].defaulted())
      fail(ErrorKind::usage, "--{} belongs to --offline; a device that is tuned on is named by --device", name);
  }
}

int run_offline(const po::variables_map& values) {
  if (values.count("spec") != 0)
    fail(ErrorKind::usage, "--offline predicts times with a model of the built-in operators and goes without --spec");
  for (const char* name : {"device", "trials", "seed"}) {
    if (!values[name].defaulted()) {
      fail(ErrorKind::usage, "--offline runs nothing and goes without --{}; {}", name,
           std::string_view(name) == "device" ? "--arch says what to compile for"
                                              : "--shortlist says how many configurations of a shape to keep");
    }
  }
  const OfflineOptions options = options_of(values);
  std::string arch = values.count("arch") != 0 ? values["arch"].as<std::string>() : "gfx950";
  // Kernels use what only the architecture's own variant has.
  if (arch == "sm_90") arch = "sm_90a";
  jit::CompileTarget target = jit::compile_target_for_arch(arch);
  const std::vector<TuneTask> tasks = tasks_of(values, arch);
  db::Database database = db::Database::open(values["db"].as<std::string>(), db::OpenMode::create);

  const InterruptGuard interrupt;
  Reporter reporter(values["json"].as<bool>() ? ReportStyle::json : ReportStyle::automatic);
  OfflineTuner tuner(options, database, std::move(target));
  const OfflineReport report = tuner.run(tasks, reporter);
  reporter.finish();
  report_end(report, reporter, database.path().string());
  if (report.interrupted) return interrupted_exit_code;
  if (!reporter.json()) std::cout << offline_text(tuner.rows(tasks), shown_shapes) << std::flush;
  return 0;
}

}  // namespace wavetune::search
