#include "search/layout/layout_command.h"

#include <iostream>
#include <optional>

#include "db/base/command_line.h"
#include "db/base/error.h"
#include "search/driver/tuner.h"
#include "search/layout/choose_layout.h"
#include "search/layout/layout_report.h"
#include "search/layout/workload_options.h"

namespace wavetune {
namespace {

namespace po = boost::program_options;
using namespace search;

const CommandHelp help = {"layout",
                          "layout --model DIR --db FILE [--device D] [OPTIONS]",
                          "Prints the TP x DP layout that is stored for a model on the devices shown. Without a stored "
                          "one, with --again, or with an option\n"
                          "that changes the workload, it is chosen from the measured operator times now, and stored.",
                          {"wavetune layout --model /models/GLM-5.2 --db tuning.db --device hip",
                           "wavetune layout --model model/demo --db demo.db --device cpu:4 --objective latency --again",
                           "wavetune layout --model model/demo --db demo.db --device cpu:4 --json"}};

}  // namespace

int layout_command(const std::vector<std::string>& arguments) {
  po::options_description options("Options");
  options.add_options()("model", po::value<std::string>()->required(), "model folder, or a built-in name (glm-5.2)")(
      "db", po::value<std::string>()->required(), "tuning database")(
      "device", po::value<std::string>()->default_value("auto"),
      "auto, hip, cuda or cpu, with the number of devices: cpu:8")(
      "again", po::bool_switch(), "choose anew from what is measured by now")("json", po::bool_switch(),
                                                                              "one JSON object");
  add_workload_options(options);
  po::variables_map values;
  if (!parse_command_line(help, options, {}, arguments, values)) return 0;
  const model::ModelConfig config = model::resolve_model(values["model"].as<std::string>());
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
