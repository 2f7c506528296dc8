#include "search/bundle/bundle_command.h"

#include <fmt/format.h>

#include <iostream>

#include "db/base/command_line.h"
#include "db/base/error.h"
#include "db/base/file.h"
#include "db/transfer/bundle.h"
#include "runtime/hip/absent_devices.h"
#include "runtime/kernels/coverage.h"
#include "runtime/kernels/weight_orders.h"
#include "search/coverage/served_model.h"

namespace wavetune {
namespace {

namespace po = boost::program_options;
using namespace search;

const CommandHelp help = {
    "export --format bundle",
    "export --format bundle --db FILE -o FILE [--model DIR [--layout TPxDP]] [--device D | --arch A] [OPTIONS]",
    "Writes one frozen file that 'wavetune serve --db FILE' starts from without compiling: winners, layouts and code "
    "objects of one\n"
    "device. With --model the code is that of every shape which serving the model looks up, and what the database does "
    "not hold is\n"
    "compiled now; without it, that of the winners. The same database gives the same file; its hash is printed here "
    "and "
    "by 'serve'.",
    {"wavetune export --format bundle --db tune.db --model /models/GLM-5.2 -o tuned.wtb",
     "wavetune export --format bundle --db tune.db --model glm-5.2 --layout 8x1 --arch gfx950 -o tuned.wtb",
     "wavetune serve --model /models/GLM-5.2 --db tuned.wtb --require-tuned"}};

po::options_description bundle_options() {
  po::options_description options("Options");
  options.add_options()("format,f", po::value<std::string>()->required(), "bundle")(
      "db", po::value<std::string>()->required(), "tuning database")("output,o", po::value<std::string>()->required(),
                                                                     "file to write, by custom NAME.wtb")(
      "model", po::value<std::string>(), "model folder, or a built-in name (glm-5.2)")(
      "device", po::value<std::string>(), "device that is tuned for: auto, hip, cuda or cpu, with :N for N devices")(
      "arch", po::value<std::string>(),
      "instead of --device, when no such device is here: the architecture, as the database names it (gfx950)")(
      "environment", po::value<int>(), "with --arch: which of several environments; the message numbers them");
  add_served_options(options);
  return options;
}

/// The devices that a bundle is made for.
struct Target {
  std::shared_ptr<const hip::Provider> provider;
  db::Environment environment;
};

std::string listed(const std::vector<db::Environment>& environments) {
  std::string text;
  int number = 0;
  for (const db::Environment& one : environments) {
    text += fmt::format("{}{}: {} ({}, {} CUs, {}, {} {})", text.empty() ? "" : "; ", ++number, one.device, one.arch,
                        one.cu_count, one.driver, one.compiler, one.compiler_version);
  }
  return text.empty() ? "none" : text;
}

std::vector<db::Environment> with_winners(const db::Database& database) {
  std::vector<db::Environment> environments = database.environments();
  std::erase_if(environments, [&](const db::Environment& one) { return database.winners(one).empty(); });
  return environments;
}

/// As many devices as the environment's newest layout is for.
int devices_of_layouts(const db::Database& database, const db::Environment& environment) {
  const db::Layout* newest = nullptr;
  const auto layouts = database.layouts();
  for (const auto& [where, layout] : layouts) {
    if (where == environment && (newest == nullptr || newest->created_at < layout.created_at)) newest = &layout;
  }
  return newest == nullptr ? 1 : newest->devices;
}

Target absent_target(const po::variables_map& values, const db::Database& database) {
  const auto arch = values["arch"].as<std::string>();
  std::vector<db::Environment> fitting = with_winners(database);
  const std::string all = listed(fitting);
  std::erase_if(fitting, [&](const db::Environment& one) { return one.arch != arch; });
  if (fitting.empty()) {
    fail(ErrorKind::not_found, "{} has no winners for --arch {}; it has: {}", database.path().string(), arch, all);
  }
  std::size_t index = 0;
  if (values.count("environment") != 0) {
    index = static_cast<std::size_t>(values["environment"].as<int>() - 1);
  } else if (fitting.size() > 1) {
    fail(ErrorKind::usage, "{} has several environments of {}; choose one with --environment: {}",
         database.path().string(), arch, listed(fitting));
  }
  if (index >= fitting.size()) {
    fail(ErrorKind::usage, "--environment {} is none; there are: {}", values["environment"].as<int>(), listed(fitting));
  }
  int devices = devices_of_layouts(database, fitting[index]);
  if (values.count("layout") != 0 && values["layout"].as<std::string>() != "stored") {
    const auto [tp, dp] = parse_degrees(values["layout"].as<std::string>());
    devices = std::max(devices, tp * dp);
  }
  return {hip::absent_devices(fitting[index], devices), fitting[index]};
}

Target target_of(const po::variables_map& values, const db::Database& database) {
  if (values.count("arch") != 0) {
    if (values.count("device") != 0) fail(ErrorKind::usage, "export: --arch and --device exclude each other");
    return absent_target(values, database);
  }
  if (values.count("environment") != 0) fail(ErrorKind::usage, "export: --environment belongs to --arch");
  const std::string device = values.count("device") != 0 ? values["device"].as<std::string>() : "auto";
  Target target;
  target.provider = hip::load_provider(hip::parse_device_spec(device));
  target.environment = hip::environment_of(*target.provider, target.provider->devices().front());
  if (database.winners(target.environment).empty()) {
    fail(ErrorKind::not_found, "{} has no winners for {}; it has: {}; another machine's are exported with --arch",
         database.path().string(), listed({target.environment}), listed(with_winners(database)));
  }
  return target;
}

struct Made {
  db::Bundle bundle;
  kernels::CodeSources sources;
  std::string served;  ///< for the user
};

Made make_bundle(const po::variables_map& values, const db::Database& database) {
  const Target target = target_of(values, database);
  Made made;
  made.bundle.environment = target.environment;
  kernels::WinnerIndex winners(&database, target.environment);
  made.bundle.winners = winners.winners();
  if (made.bundle.winners.empty()) {
    fail(ErrorKind::incompatible,
         "all winners of {} were made with other kernel sources than this wavetune's; export with the wavetune that "
         "tuned, or tune again",
         database.path().string());
  }
  for (auto& [where, layout] : database.layouts()) {
    if (where == target.environment) made.bundle.layouts.push_back(std::move(layout));
  }

  jit::CompileService compiler(jit::CompileOptions{});
  kernels::KernelCache cache(target.provider, compiler, std::move(winners), kernels::UntunedPolicy::quiet,
                             [&database](const jit::CompileRequest& request, const jit::CompileService& service) {
                               return database.code(service.key(request));
                             });
  std::vector<db::Problem> problems;
  if (values.count("model") != 0) {
    const ServedModel served =
        served_model(values, values["model"].as<std::string>(), database, target.environment, *target.provider);
    const templates::DeviceLimits& limits = target.provider->devices().front().limits;
    kernels::settle_weight_orders(served.sizes.program, limits, cache);
    problems = kernels::serving_problems(served.sizes.program, served.sizes.lookup_shapes());
    made.served = fmt::format("{} at {}: {}", served.config.name, served.layout.description,
                              kernels::coverage_of(cache.winners(), problems, limits).summary());
  } else {
    for (const db::Winner& winner : made.bundle.winners) problems.push_back(winner.problem);
  }
  cache.prepare(problems, {});
  made.bundle.code = cache.code();
  made.sources = cache.code_sources();
  return made;
}

}  // namespace

bool wants_bundle(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--format=bundle" || words[i] == "-fbundle") return true;
    if ((words[i] == "--format" || words[i] == "-f") && i + 1 < words.size() && words[i + 1] == "bundle") return true;
  }
  return false;
}

int bundle_command(const std::vector<std::string>& words) {
  po::options_description options = bundle_options();
  po::variables_map values;
  if (!parse_command_line(help, options, {}, words, values)) return 0;
  const auto database = db::Database::open(values["db"].as<std::string>(), db::OpenMode::read_only);
  Made made = make_bundle(values, database);
  const auto winners = made.bundle.winners.size(), layouts = made.bundle.layouts.size(), code = made.bundle.code.size();
  const auto left_out = database.winners(made.bundle.environment).size() - winners;
  const std::string bytes = db::pack_bundle(std::move(made.bundle));
  const auto output = values["output"].as<std::string>();
  write_file_atomic(output, bytes);
  std::cout << fmt::format("{}: frozen bundle {}, {:.1f} MB\n", output, db::bundle_hash(bytes),
                           static_cast<double>(bytes.size()) / 1e6)
            << fmt::format(
                   "{} winners, {} layouts, {} code objects ({} from the database, {} from the code cache, {} "
                   "compiled now)\n",
                   winners, layouts, code, made.sources.database, made.sources.cache, made.sources.compiled);
  if (left_out > 0) std::cout << fmt::format("left out: {} winners of other kernel sources\n", left_out);
  if (!made.served.empty()) {
    std::cout << fmt::format("serves without compiling: {}\n", made.served);
  } else {
    std::cout << "code of the winners alone: serving compiles the shapes that fall back; --model includes them\n";
  }
  return 0;
}

}  // namespace wavetune
