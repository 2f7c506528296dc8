#include "search/layout/layout_command.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>

#include "db/base/command_line.h"
#include "db/base/error.h"
#include "runtime/engine/engine_factory.h"
#include "search/driver/tuner.h"
#include "search/layout/choose_layout.h"
#include "search/layout/layout_report.h"
#include "search/layout/plan_options.h"
#include "search/layout/plan_report.h"
#include "search/layout/step_survey.h"
#include "search/layout/workload_options.h"

namespace wavetune {
namespace {

namespace po = boost::program_options;
using namespace search;

const CommandHelp help = {
    "layout",
    "layout --model DIR --db FILE [--device D] [OPTIONS]",
    "Prints the TP x DP layout that is stored for a model on the devices shown. Without a stored one, with --again, or "
    "with an option\n"
    "that changes the workload, it is chosen from the measured operator times now, and stored. With --workload the "
    "server is\n"
    "simulated under that load for every layout; --devices plans for a node that is elsewhere, from its tuning "
    "database "
    "or from\n"
    "published times ('wavetune import').",
    {"wavetune layout --model /models/GLM-5.2 --db tuning.db --device hip",
     "wavetune layout --model model/demo --db demo.db --device cpu:4 --objective latency --again",
     "wavetune layout --model glm-5.2 --weights mxfp4 --db aiter.db --devices 8xMI355X --workload "
     "in=20000,out=1000,hit=0.6"}};

po::options_description layout_options() {
  po::options_description options("Options");
  options.add_options()("model", po::value<std::string>()->required(), "model folder, or a built-in name (glm-5.2)")(
      "db", po::value<std::string>()->required(), "tuning database")(
      "device", po::value<std::string>()->default_value("auto"),
      "auto, hip, cuda or cpu, with the number of devices: cpu:8")(
      "again", po::bool_switch(), "choose anew from what is measured by now")("json", po::bool_switch(),
                                                                              "one JSON object");
  add_workload_options(options);
  add_plan_options(options);
  return options;
}

void print(const PlanReport& report, bool json) { std::cout << (json ? plan_event(report) : plan_text(report)); }

/// Stores the layout and prints it.
int finish_plan(const po::variables_map& values, db::Database& database, const db::Environment& environment,
                const Plan& plan, PlanReport report) {
  database.put_layout(environment, plan.layout);
  report.plan = &plan;
  print(report, values["json"].as<bool>());
  return 0;
}

/// A node that is not here: winners of any machine with such devices, and published times.
int plan_elsewhere(const po::variables_map& values, const model::ModelConfig& config) {
  const Node node = named_node(values["devices"].as<std::string>());
  const PlanOptions options = read_plan_options(values, read_objective(values), /*published_attention=*/true);
  const std::vector<int> tp = read_tp(values);
  db::Database database = db::Database::open(values["db"].as<std::string>(), db::OpenMode::read_write);
  std::vector<db::Winner> winners;
  for (const db::StoredWinner& stored : database.all_winners()) {
    const db::Environment& environment = stored.environment;
    if (environment.arch == node.arch && environment.cu_count == node.cu_count) winners.push_back(stored.winner);
  }
  std::vector<ReferenceTime> references = references_of(database.published_times(node.arch, node.cu_count));
  references.insert(references.end(), node.references.begin(), node.references.end());
  const auto costs =
      std::make_shared<const LayoutCosts>(LayoutCosts{CostTable(winners, node.peak, references, node.arch)});
  const Plan plan = plan_layout(config, node, options, planned_candidates(options, config, node.devices, tp),
                                [&costs](const CandidateLayout&) { return costs; });
  PlanReport report{nullptr, &node, &options, node.assumptions, reference_run(config, node, options, *costs)};
  std::ranges::copy(assumptions_of(options, costs->costs), std::back_inserter(report.assumptions));
  return finish_plan(values, database, {node.name, node.arch, node.cu_count, "", "", ""}, plan, std::move(report));
}

/// The devices that are shown: surveyed with all of them busy when the model's weights are here, else from the winners.
int plan_here(const po::variables_map& values, const model::ModelConfig& config) {
  PlanOptions options = read_plan_options(values, read_objective(values), /*published_attention=*/false);
  // What `serve` takes unless told otherwise, and it has no prefix cache.
  const engine::EngineOptions served;
  if (values["step-tokens"].defaulted()) options.step_tokens = served.max_step_tokens;
  if (values["max-sequences"].defaulted()) options.max_sequences = served.max_sequences;
  PlanReport report{nullptr, nullptr, &options, {}, std::nullopt};
  if (options.traffic.hit > 0) {
    options.traffic.hit = 0;
    report.assumptions.emplace_back("this server has no prefix cache: every prompt is computed whole");
  }
  const std::string file = values["db"].as<std::string>(), spec = values["device"].as<std::string>();
  db::Database database = db::Database::open(file, db::OpenMode::read_write);
  const std::shared_ptr<const hip::Provider> provider = hip::load_provider(hip::parse_device_spec(spec));
  const hip::DeviceInfo& device = provider->devices().front();
  const db::Environment environment = hip::environment_of(*provider, device);
  Node node;
  node.devices = static_cast<int>(provider->devices().size());
  node.name = device.name;
  node.arch = environment.arch;
  node.cu_count = environment.cu_count;
  node.memory_bytes = device.memory_bytes;
  report.node = &node;
  CostsOfLayout costs_of;
  std::shared_ptr<const LayoutCosts> last;  // every layout's assumptions are the same
  if (std::filesystem::is_directory(values["model"].as<std::string>()) && options.formats.name == "bf16") {
    const SurveyOptions survey{values["model"].as<std::string>(), file, {}};
    spdlog::set_level(spdlog::level::err);  // standard output is the plan's: no lines about lookups between
    costs_of = [&, survey](const CandidateLayout& candidate) {
      last = std::make_shared<const LayoutCosts>(
          survey_steps(survey, provider, config, candidate.tp, candidate.dp, options));
      return last;
    };
    report.assumptions.emplace_back(
        "operators were timed in the server's own steps with every device busy; a step's remaining time is divided "
        "among "
        "its launches");
  } else {
    TunerOptions tuning;
    tuning.device = spec;
    Tuner tuner(tuning, database, *provider);
    node.peak = tuner.peak();
    last = std::make_shared<const LayoutCosts>(LayoutCosts{CostTable(database, environment, node.peak)});
    costs_of = [&last](const CandidateLayout&) { return last; };
    report.assumptions.emplace_back("operators were timed by 'tune', on one device each; no launch gaps are added");
  }
  const Plan plan =
      plan_layout(config, node, options, planned_candidates(options, config, node.devices, read_tp(values)), costs_of);
  std::ranges::copy(assumptions_of(options, last->costs), std::back_inserter(report.assumptions));
  return finish_plan(values, database, environment, plan, std::move(report));
}

}  // namespace

int layout_command(const std::vector<std::string>& arguments) {
  po::options_description options = layout_options();
  po::variables_map values;
  if (!parse_command_line(help, options, {}, arguments, values)) return 0;
  const model::ModelConfig config = model::resolve_model(values["model"].as<std::string>());
  if (values.count("devices") != 0) {
    if (values.count("workload") == 0)
      fail(ErrorKind::usage, "--devices plans for a load: say which, as in --workload in=20000,out=1000,hit=0.6");
    return plan_elsewhere(values, config);
  }
  if (values.count("workload") != 0) return plan_here(values, config);
  db::Database database = db::Database::open(values["db"].as<std::string>(), db::OpenMode::read_write);
  const auto device = values["device"].as<std::string>();
  const auto provider = hip::load_provider(hip::parse_device_spec(device));
  const WorkloadChoice choice = read_workload_options(values, config, provider->kind());
  const int devices = devices_of(choice, *provider);
  const db::Environment environment = hip::environment_of(*provider, provider->devices().front());

  std::optional<db::Layout> layout;
  if (!values["again"].as<bool>() && !choice.given)
    layout = database.layout(environment, config.id, devices, choice.objective);
  if (!layout) {
    TunerOptions tuning;
    tuning.device = device;
    Tuner tuner(tuning, database, *provider);
    const CostTable costs(database, environment, tuner.peak());
    LayoutInput input{&config, devices, provider->devices().front().memory_bytes, choice.objective, choice.workload};
    layout = choose_layout(input, candidate_layouts(config, devices, choice.tp, choice.workload), costs);
    database.put_layout(environment, *layout);
  }
  std::cout << (values["json"].as<bool>() ? layout_event(*layout) : layout_text(*layout));
  return 0;
}

}  // namespace wavetune
