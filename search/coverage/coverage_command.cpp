#include "search/coverage/coverage_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "db/base/command_line.h"
#include "db/base/error.h"
#include "runtime/kernels/coverage.h"
#include "runtime/kernels/weight_orders.h"
#include "search/coverage/neighbour_check.h"
#include "search/driver/interrupt.h"
#include "search/layout/workload_options.h"

namespace wavetune {
namespace {

namespace po = boost::program_options;
using namespace search;

constexpr std::size_t shown_shapes = 12;
// As 'tune' takes them for a typical step.
constexpr std::int64_t cpu_context = 512, gpu_context = 4096;

const CommandHelp help = {
    "db coverage",
    "db coverage --db FILE --model DIR [--layout TPxDP] [--device D] [--verify] [OPTIONS]",
    "Prints what serving a model would find in the database: operator shapes that are tuned exactly, that run with the "
    "winner of the\n"
    "bucket that steps are rounded up to, with that of the nearest shape, or on the default configuration, and the "
    "part "
    "of a step's time\n"
    "that each takes. With --verify, neighbours' winners are timed on the shapes that serving answers by the nearest "
    "one, and kept.",
    {"wavetune db coverage --db tune.db --model /models/GLM-5.2 --layout 8x1",
     "wavetune db coverage --db demo.db --model model/demo --device cpu --decode-batches 1,3,16 --json",
     "wavetune db coverage --db tune.db --model /models/GLM-5.2 --verify --shapes 32 --budget 10m"}};

po::options_description coverage_options() {
  po::options_description options("Options");
  options.add_options()("db", po::value<std::string>()->required(), "tuning database")(
      "model", po::value<std::string>()->required(), "model folder, or a built-in name (glm-5.2)")(
      "device", po::value<std::string>()->default_value("auto"), "auto, hip, cuda or cpu, with :N for N devices")(
      "decode-batches", po::value<std::string>(),
      "decode steps that are looked at, e.g. 1,24 (default: 1, 16, 64 and the stored layout's)")(
      "context", po::value<std::int64_t>(), "context of these steps in tokens (default 4096, on cpu 512)")(
      "verify", po::bool_switch(), "time the winners of neighbours on shapes without one, and store the trials")(
      "shapes", po::value<int>()->default_value(16), "verify: at most so many, those that take most time first")(
      "budget", po::value<std::string>()->default_value("10m"), "verify: time for it")("json", po::bool_switch(),
                                                                                       "one JSON object");
  add_served_options(options);
  return options;
}

std::vector<CoveredStep> steps_of(const po::variables_map& values, const ServedModel& served, hip::ProviderKind kind) {
  const engine::ExecutorOptions& executor = served.sizes.executor;
  std::int64_t context = kind == hip::ProviderKind::cpu ? cpu_context : gpu_context;
  if (values.count("context") != 0) context = values["context"].as<std::int64_t>();
  if (context < 1) fail(ErrorKind::usage, "db coverage: --context {} must be at least 1", context);
  const std::vector<std::int64_t> buckets = kernels::context_buckets(executor.page_size, executor.max_context);
  const auto bucket = std::ranges::lower_bound(buckets, context);
  context = bucket == buckets.end() ? buckets.back() : *bucket;

  std::set<std::int64_t> batches{1, 16, 64};
  std::int64_t chunk = executor.max_step_tokens;
  if (values.count("decode-batches") != 0) {
    const std::vector<int> given = parse_int_list(values["decode-batches"].as<std::string>(), "--decode-batches");
    batches = {given.begin(), given.end()};
  } else if (served.stored) {
    for (const db::LayoutRow& row : served.stored->table) {
      if (row.tp == served.layout.tp && row.dp == served.layout.dp && row.decode_batch > 0)
        batches.insert(row.decode_batch);
    }
  }
  const std::int64_t slots = executor.pages * executor.page_size;
  std::vector<CoveredStep> steps;
  for (const std::int64_t batch : batches) {
    if (batch > executor.max_samples) continue;  // such a step is never run
    steps.push_back({fmt::format("decode, batch {}", batch), {batch, batch, context, slots}});
  }
  steps.push_back({fmt::format("prefill, {} tokens", chunk), {chunk, 1, context, slots}});
  return steps;
}

/// Chunks of prompts that `tune` must be told of: steps with more tokens than the decode steps that it tunes anyway.
std::vector<std::int64_t> chunks_to_tune(const ServedModel& served, std::int64_t concurrency) {
  std::set<std::int64_t, std::greater<>> chunks{served.sizes.executor.max_step_tokens};
  for (const model::StepShape& shape : served.sizes.lookup_shapes()) {
    if (shape.tokens > concurrency) chunks.insert(shape.tokens);
  }
  return {chunks.begin(), chunks.end()};
}

/// The commands that would fill what is missing.
std::string advice(const CoverageReport& report, const ServedModel& served, const po::variables_map& values) {
  const std::int64_t context = report.steps.front().step.shape.context;
  std::set<std::string> ops;
  std::set<std::int64_t> other_contexts;
  std::size_t nearest = 0;
  for (const CoveredShape& shape : report.shapes) {
    if (shape.match != kernels::Match::nearest && shape.match != kernels::Match::fallback) continue;
    ops.insert(shape.problem.op);
    nearest += shape.match == kernels::Match::nearest ? 1 : 0;
    const std::int64_t of_shape = shape.problem.dim_or("context", context);
    if (of_shape != context) other_contexts.insert(of_shape);
  }
  if (ops.empty()) return "nothing to do: every shape that is looked up is tuned\n";
  const std::string common = fmt::format("--db {} --model {} --device {}", values["db"].as<std::string>(),
                                         values["model"].as<std::string>(), values["device"].as<std::string>());
  const std::int64_t concurrency = served.sizes.executor.max_samples * served.layout.dp;
  std::string text = fmt::format(
      "to tune what is missing:\n  wavetune tune {} --tp {} --node-devices {} --concurrency {} --prefill-tokens {} "
      "--context {} --op {}\n",
      common, served.layout.tp, served.layout.devices, concurrency, fmt::join(chunks_to_tune(served, concurrency), ","),
      context, fmt::join(ops, ","));
  if (!other_contexts.empty()) text += fmt::format("and with --context {}\n", fmt::join(other_contexts, ", "));
  if (nearest > 0) {
    text += fmt::format(
        "to measure whether the nearest shape's winner is the right one, and keep the fastest:\n  wavetune db coverage "
        "{} --layout {}x{} --verify\n",
        common, served.layout.tp, served.layout.dp);
  }
  return text;
}

std::string headline(const CoverageReport& report, const ServedModel& served, const std::string& device) {
  const ByMatch<std::int64_t> counts = report.counts();
  return fmt::format(
      "{} at {}, on {}\n{} operator shapes: {} exact, {} by bucket, {} by nearest shape, {} on the default "
      "configuration; {:.1f} % of a step's time is untuned\n\n",
      served.config.name, served.layout.description, device, report.shapes.size(), counts[0], counts[1], counts[2],
      counts[3], 100 * report.untuned_share());
}

}  // namespace

int coverage_command(const std::vector<std::string>& arguments) {
  po::options_description options = coverage_options();
  po::variables_map values;
  if (!parse_command_line(help, options, {}, arguments, values)) return 0;
  const bool verify = values["verify"].as<bool>(), as_json = values["json"].as<bool>();
  if (values["shapes"].as<int>() < 1) fail(ErrorKind::usage, "db coverage: --shapes must be at least 1");
  TunerOptions tuning;
  tuning.device = values["device"].as<std::string>();
  tuning.budget_s = parse_duration_seconds(values["budget"].as<std::string>(), "--budget");
  db::Database database =
      db::Database::open(values["db"].as<std::string>(), verify ? db::OpenMode::read_write : db::OpenMode::read_only);
  const auto provider = hip::load_provider(hip::parse_device_spec(tuning.device));
  const hip::DeviceInfo& device = provider->devices().front();
  const db::Environment environment = hip::environment_of(*provider, device);
  const ServedModel served = served_model(values, values["model"].as<std::string>(), database, environment, *provider);

  Tuner tuner(tuning, database, *provider);
  const CostTable costs(database, environment, tuner.peak());
  kernels::WinnerIndex winners(&database, environment);
  kernels::settle_weight_orders(served.sizes.program, device.limits, winners);
  const CoverageReport report =
      cover(served, steps_of(values, served, provider->kind()), winners, costs, device.limits);
  nlohmann::json document = coverage_json(report);
  if (!as_json) {
    std::cout << headline(report, served, device.name) << coverage_text(report, shown_shapes) << "\n"
              << (verify ? "" : advice(report, served, values)) << std::flush;
  }
  if (verify) {
    const InterruptGuard interrupt;
    Reporter reporter(as_json ? ReportStyle::quiet : ReportStyle::automatic);
    const std::vector<db::Problem> problems =
        nearest_lookups(report, static_cast<std::size_t>(values["shapes"].as<int>()));
    const std::vector<NeighbourCheck> checks = check_neighbours(tuner, winners, device.limits, problems, reporter);
    reporter.finish();
    document["verify"] = neighbours_json(checks);
    document["verify"]["asked"] = problems.size();
    if (!as_json) {
      std::cout << neighbours_text(checks);
      if (checks.size() < problems.size()) {
        std::cout << fmt::format("{} of {} shapes were compared; the same command goes on with the others\n",
                                 checks.size(), problems.size());
      }
    }
    if (as_json) std::cout << document.dump() << "\n";
    return InterruptGuard::requested() ? interrupted_exit_code : 0;
  }
  if (as_json) std::cout << document.dump() << "\n";
  return 0;
}

}  // namespace wavetune
