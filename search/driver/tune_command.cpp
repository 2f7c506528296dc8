#include "search/driver/tune_command.h"

#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "db/base/command_line.h"
#include "db/base/error.h"
#include "search/driver/interrupt.h"
#include "search/driver/model_tasks.h"
#include "search/driver/run_end.h"
#include "search/driver/shard.h"
#include "search/driver/spec_command.h"
#include "search/driver/summary.h"
#include "search/driver/tuner.h"
#include "search/driver/weight_formats.h"
#include "search/layout/choose_layout.h"
#include "search/layout/layout_report.h"
#include "search/layout/workload_options.h"
#include "search/offline/offline_command.h"
#include "search/report/live_report.h"
#include "search/report/report_facts.h"

namespace wavetune {
namespace {

namespace po = boost::program_options;
using namespace search;

constexpr std::size_t shown_shapes = 25;

const CommandHelp help = {
    "tune",
    "tune (--model DIR | --spec T1.json) --db FILE [--device D | --offline [--arch A]] [OPTIONS]",
    "Searches kernel configurations for the operator shapes of a model, verifies and times them on the device, keeps "
    "every trial in\n"
    "the database, and chooses the TP x DP layout from the measured times. Given again, it goes on where it was "
    "stopped; a budget\n"
    "counts what earlier runs spent on the same shapes.",
    {"wavetune tune --model /models/GLM-5.2 --db tuning.db --device hip --budget 2h",
     "wavetune tune --model glm-5.2 --db tuning.db --device cpu:8 --tp 8 --op gemm,grouped_gemm --trials 16",
     "wavetune tune --offline --arch gfx950 --model glm-5.2 --tp 4,8 --db tuning.db --budget 1h",
     "wavetune tune --offline --model glm-5.2 --tp 4 --expert-format mxfp4 --dense-format fp8_token --db tuning.db",
     "wavetune tune --offline --arch sm_90a --model glm-5.2 --tp 4,8 --decode-batches 1,2,4,8,16,32,64 --db tuning.db",
     "wavetune tune --model glm-5.2 --tp 4,8 --node-devices 8 --device cuda:1 --dense-format fp8_token --db t.db",
     "wavetune tune --model /models/GLM-5.2 --db shard2.db --device hip --budget 1h --shard 2/8",
     "wavetune tune --model model/demo --db demo.db --device cpu --budget 2m --json",
     "wavetune tune --spec matmul.json --db tuning.db --device hip --budget 5m"}};

po::options_description tune_options() {
  po::options_description options("Options");
  options.add_options()("model", po::value<std::string>(), "model folder, or a built-in name (glm-5.2)")(
      "spec", po::value<std::string>(), "a kernel of your own instead of a model: a T1 file that names its source")(
      "db", po::value<std::string>()->required(), "tuning database; created when absent")(
      "device", po::value<std::string>()->default_value("auto"),
      "auto, hip, cuda or cpu, with the number of devices: cpu:8")(
      "budget", po::value<std::string>()->default_value("10m"),
      "time for tuning, earlier runs included: 90s, 10m, 2h, or none")(
      "trials", po::value<int>()->default_value(32), "configurations of a shape after which it is finished")(
      "op", po::value<std::string>(), "only these operators, e.g. gemm,mla_attention_bf16")(
      "strategy", po::value<std::string>()->default_value(std::string(default_strategy)),
      ("how configurations are proposed: " + strategy_list()).c_str())(
      "seed", po::value<std::uint64_t>()->default_value(1), "of the search: with the same results, the same proposals")(
      "workers", po::value<int>()->default_value(0), "compile processes (default: one for each core)")(
      "html", po::value<std::string>()->default_value(""),
      "keep a report in this file: curves, outcomes, importance of parameters, time spent")(
      "json", po::bool_switch(), "one JSON object a line on standard output for each event");
  options.add_options()("machine", po::value<std::string>()->default_value(""),
                        "name of this node in its trials (default: the host's name; in a container, give the node's)");
  add_shard_option(options);
  add_offline_options(options);
  add_weight_format_options(options);
  add_workload_options(options);
  return options;
}

std::string shard_event(const Shard& shard, std::size_t shapes, std::size_t all_shapes) {
  const nlohmann::json event = {{"event", "shard"},
                                {"index", shard.index},
                                {"count", shard.count},
                                {"shapes", shapes},
                                {"all_shapes", all_shapes}};
  return event.dump() + "\n";
}

/// A layout rests on the times of all shapes.
std::string shard_text(const Shard& shard, std::size_t shapes, std::size_t all_shapes, const std::string& model) {
  return fmt::format(
      "shard {}/{} has {} of {} shapes and chooses no layout: that needs the times of all of them. When all shards are "
      "done:\n  wavetune merge SHARD.db... -o ALL.db\n  wavetune layout --model {} --db ALL.db --again\n",
      shard.index, shard.count, shapes, all_shapes, model);
}

TunerOptions tuner_options(const po::variables_map& values) {
  TunerOptions options;
  options.device = values["device"].as<std::string>();
  const auto budget = values["budget"].as<std::string>();
  if (budget != "none") options.budget_s = parse_duration_seconds(budget, "--budget");
  options.trials = values["trials"].as<int>();
  if (options.trials < 1) fail(ErrorKind::usage, "--trials {} must be at least 1", options.trials);
  options.machine = values["machine"].as<std::string>();
  options.seed = values["seed"].as<std::uint64_t>();
  options.strategy = values["strategy"].as<std::string>();
  require_strategy(options.strategy);
  options.compile.workers = values["workers"].as<int>();
  return options;
}

}  // namespace

int tune_command(const std::vector<std::string>& arguments) {
  po::options_description options = tune_options();
  po::variables_map values;
  if (!parse_command_line(help, options, {}, arguments, values)) return 0;
  if (values.count("spec") == values.count("model"))
    fail(ErrorKind::usage, "tune needs either --model (a folder or glm-5.2) or --spec (a T1 file)");
  if (values["offline"].as<bool>()) {
    if (!values["html"].as<std::string>().empty())
      fail(ErrorKind::usage, "--html shows measured times; with --offline there are none");
    return run_offline(values);
  }
  refuse_offline_options(values);
  const TunerOptions tuning = tuner_options(values);
  const std::optional<Shard> shard = read_shard(values);
  if (values.count("spec") != 0) return run_spec(values, tuning);
  const model::ModelConfig config = model::resolve_model(values["model"].as<std::string>());
  const auto provider = hip::load_provider(hip::parse_device_spec(tuning.device));
  const WorkloadChoice choice = read_workload_options(values, config, provider->kind());
  const int devices = devices_of(choice, *provider);
  const std::vector<CandidateLayout> layouts = candidate_layouts(config, devices, choice.tp, choice.workload);
  db::Database database = db::Database::open(values["db"].as<std::string>(), db::OpenMode::create);

  const InterruptGuard interrupt;
  Reporter reporter(values["json"].as<bool>() ? ReportStyle::json : ReportStyle::automatic);
  Tuner tuner(tuning, database, *provider);
  const measure::DevicePeak peak = tuner.peak();
  const std::vector<std::string> names =
      values.count("op") != 0 ? split_list(values["op"].as<std::string>()) : std::vector<std::string>{};
  const auto tasks_at = [&](const measure::DevicePeak& rates) {
    return filter_tasks(in_formats(model_tasks(layouts, choice.workload, rates), read_weight_formats(values)), names);
  };
  std::vector<TuneTask> tasks = tasks_at(peak);
  const std::size_t all_tasks = tasks.size();
  if (shard) tasks = only(std::move(tasks), problems_of(*shard, tasks_at(shard_peak())));
  const auto live = report::follow(reporter, values["html"].as<std::string>(), database, {names, tuner.environment()},
                                   report::live_facts(tasks, peak, provider->devices().front().limits));
  const TuneReport report = tuner.run(tasks, reporter);
  reporter.finish();
  if (live) live->finish();
  report_end(report, reporter, database.path().string());
  if (report.interrupted) return interrupted_exit_code;

  if (!reporter.json()) std::cout << tuner.summary(tasks, shown_shapes) << "\n";
  if (shard) {
    std::cout << (reporter.json() ? shard_event(*shard, tasks.size(), all_tasks)
                                  : shard_text(*shard, tasks.size(), all_tasks, values["model"].as<std::string>()))
              << std::flush;
    return 0;
  }
  LayoutInput input{&config, devices, provider->devices().front().memory_bytes, choice.objective, choice.workload};
  const CostTable costs(database, tuner.environment(), peak);
  try {
    const db::Layout layout = choose_layout(input, layouts, costs);
    database.put_layout(tuner.environment(), layout);
    std::cout << (reporter.json() ? layout_event(layout) : layout_text(layout)) << std::flush;
  } catch (const Error& error) {
    // Operators can be tuned on one device of a kind of which the model needs more, or in another format.
    if (choice.node_devices == 0) throw;
    reporter.warning(fmt::format("no layout is chosen: {}", error.what()));
  }
  return 0;
}

}  // namespace wavetune
