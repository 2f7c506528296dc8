#include "search/inspect/inspect_command.h"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "db/base/command_line.h"
#include "db/base/error.h"
#include "db/base/file.h"
#include "db/database.h"
#include "runtime/jit/target.h"
#include "runtime/process/subprocess.h"
#include "search/inspect/inspection.h"
#include "search/inspect/problem_arguments.h"
#include "search/offline/offline_tuner.h"

namespace wavetune {
namespace {

namespace po = boost::program_options;
using namespace search;

const CommandHelp help = {
    "inspect",
    "inspect --op OP --shape SHAPE [--arch gfx950] [--config k=v,...] [OPTIONS]\n"
    "       wavetune inspect --code-object FILE [--kernel NAME] [OPTIONS]",
    "Compiles one configuration for an AMD or NVIDIA architecture (no GPU needed) and prints what its code object "
    "says: "
    "registers,\n"
    "LDS, spills, occupancy with what limits it, the instruction mix of the inner loop, its MFMA cycles against the "
    "cycles\n"
    "that one wave needs to issue it (runtime/isa/issue_model.h says how), bytes per flop, and the chip's bounds. For\n"
    "NVIDIA registers, shared memory (LDS), spills and occupancy.\n"
    "With --code-object the same for a code object that somebody else's compiler wrote (Triton's hsaco or cubin).",
    {"wavetune inspect --op gemm_bf16 --shape 4096x6144x2048 --arch gfx950",
     "wavetune inspect --op gemm --dtype mxfp4 --shape 4096x6144x2048 --config bm=256,bn=256 --disassembly",
     "wavetune inspect --op rmsnorm_bf16 --shape m=64,n=6144,residual=1 --arch gfx942 --json",
     "wavetune inspect --op rmsnorm_bf16 --shape m=64,n=6144,residual=1 --arch sm_90a",
     "wavetune inspect --op gemm_bf16 --shape 4096x6144x2048 --db tuning.db",
     "wavetune inspect --op gemm_mxfp4 --shape 4096x6144x2048 --rank 12",
     "wavetune inspect --code-object triton.hsaco --lds 65536"}};

struct StartingPoint {
  db::Config config;
  std::string origin;
};

/// The fastest measured configuration for the architecture in the database, else the best predicted one.
std::optional<StartingPoint> stored_config(const std::string& file, const jit::CompileTarget& target,
                                           const templates::Operator& op, const db::Problem& problem) {
  const db::Database database = db::Database::open(file, db::OpenMode::read_only);
  std::optional<db::Winner> best;
  for (const db::Environment& environment : database.environments()) {
    if (environment.arch != target.arch) continue;
    std::optional<db::Winner> winner = database.winner(environment, problem);
    if (winner && (!best || winner->median_us < best->median_us)) best = std::move(winner);
  }
  if (best) return StartingPoint{best->config, fmt::format("winner in {}, {:.4g} us", file, best->median_us)};
  db::Environment node;
  node.arch = target.arch;
  node.compiler = target.compiler;
  node.compiler_version = target.compiler_version;
  const std::vector<db::OfflineTrial> predicted = database.shortlist(node, problem, templates::source_hash(op), 1);
  if (predicted.empty()) return std::nullopt;
  return StartingPoint{predicted.front().config,
                       fmt::format("best predicted in {}, {:.4g} us", file, predicted.front().predicted_us)};
}

/// The best of the `count` configurations that the analytic model ranks first and that neither spill nor fail to fit,
/// as `tune --offline` finds them.
StartingPoint best_ranked(const jit::CompileTarget& target, const templates::Operator& op, const db::Problem& problem,
                          int count) {
  const process::TemporaryDirectory folder("wavetune-inspect");
  db::Database database = db::Database::open(folder.path() / "ranked.db", db::OpenMode::create);
  OfflineOptions options;
  options.shortlist = count;
  OfflineTuner tuner(options, database, target);
  Reporter reporter(ReportStyle::automatic);
  const std::vector<TuneTask> tasks{{&op, problem, 1}};
  tuner.run(tasks, reporter);
  reporter.finish();
  const OfflineRow row = tuner.rows(tasks).front();
  if (row.kept == 0) {
    fail(ErrorKind::not_found, "none of the {} configurations tried for {} can be run on {}", row.tried, problem.key(),
         target.arch);
  }
  return {row.best, fmt::format("best of {} ranked by the model, {:.4g} us predicted", row.kept, row.best_us)};
}

StartingPoint starting_point(const po::variables_map& values, const jit::CompileTarget& target,
                             const templates::Operator& op, const db::Problem& problem) {
  StartingPoint start{op.default_config(problem, target.limits), "default"};
  if (values.count("rank") != 0) {
    const int count = values["rank"].as<int>();
    if (count < 1) fail(ErrorKind::usage, "--rank {} must be at least 1", count);
    return best_ranked(target, op, problem, count);
  }
  if (values.count("db") == 0) return start;
  const auto file = values["db"].as<std::string>();
  if (auto stored = stored_config(file, target, op, problem)) return *stored;
  start.origin = fmt::format("default: {} has nothing for this shape on {}", file, target.arch);
  return start;
}

jit::CompileResult compile(const jit::CompileTarget& target, const templates::Operator& op, const db::Problem& problem,
                           const db::Config& config) {
  jit::CompileOptions options;
  options.workers = 1;
  jit::CompileService service(options);
  jit::CompileResult result = service.compile(jit::request_for(target, op, problem, config));
  if (result.outcome != db::Outcome::ok) {
    fail(ErrorKind::device, "{} with {} does not compile for {} ({}): {}", problem.key(), db::to_text(config),
         target.arch, db::to_string(result.outcome), result.log);
  }
  return result;
}

Inspection inspect_operator(const po::variables_map& values) {
  const auto text = [&values](const char* name) {
    return values.count(name) != 0 ? values[name].as<std::string>() : std::string();
  };
  const OperatorChoice choice = parse_operator(text("op"), text("dtype"));
  const db::Problem problem = parse_problem(choice, text("shape"));
  const jit::CompileTarget target = jit::compile_target_for_arch(text("arch"));
  const templates::Operator& op = *choice.op;
  StartingPoint start = starting_point(values, target, op, problem);
  if (values.count("config") != 0) start.origin = "given, the rest " + start.origin;
  const db::Config config = parse_config(text("config"), start.config, op.space(problem, target.limits));

  const jit::CompileResult compiled = compile(target, op, problem, config);
  isa::CodeObject object = isa::read_code_object(compiled.code, problem.key());
  for (isa::KernelCode& kernel : object.kernels) {
    // A cubin does not say what was spilled; the compiler's log did, of all kernels the most.
    if (!kernel.resources.spills && (object.kernels.size() == 1 || compiled.resources.spills == 0))
      kernel.resources.spills = compiled.resources.spills;
  }
  Inspection inspection;
  inspection.arch = target.arch;
  inspection.title = problem.key();
  inspection.configuration = db::to_text(config);
  inspection.origin = start.origin;
  inspection.compiler = target.compiler + " " + target.compiler_version;
  const auto wanted = text("kernel");
  for (const templates::Launch& launch : templates::dry_launches(op, problem, config)) {
    if (!wanted.empty() && launch.kernel != wanted) continue;
    const int threads = static_cast<int>(launch.block[0] * launch.block[1] * launch.block[2]);
    KernelInspection kernel =
        inspect_kernel(object, object.kernel(launch.kernel), threads, static_cast<int>(launch.lds_bytes));
    kernel.blocks = std::int64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
    inspection.kernels.push_back(std::move(kernel));
  }
  if (inspection.kernels.empty()) (void)object.kernel(wanted);  // says which there are
  inspection.bounds = bounds_of(op.cost(problem), inspection.kernels, target.arch);
  return inspection;
}

Inspection inspect_file(const po::variables_map& values) {
  const auto file = values["code-object"].as<std::string>();
  const std::string bytes = read_file(file);
  const isa::CodeObject object = isa::read_code_object(std::as_bytes(std::span(bytes)), file);
  const auto name = values.count("kernel") != 0 ? values["kernel"].as<std::string>() : std::string();
  const isa::KernelCode& kernel = object.kernel(name);
  const int threads = values.count("threads") != 0 ? values["threads"].as<int>() : std::max(kernel.max_threads, 64);
  Inspection inspection;
  inspection.arch = object.arch;
  inspection.title = file;
  inspection.kernels.push_back(inspect_kernel(object, kernel, threads, values["lds"].as<int>()));
  return inspection;
}

/// Which of the two forms is meant, and that nothing of the other is mixed in.
bool is_file_form(const po::variables_map& values) {
  const auto given = [&values](const char* name) { return values.count(name) != 0; };
  if (given("code-object")) {
    for (const char* name : {"op", "shape", "dtype", "config", "db", "rank"}) {
      if (given(name)) fail(ErrorKind::usage, "--code-object and --{} do not go together", name);
    }
    return true;
  }
  if (given("db") && given("rank")) fail(ErrorKind::usage, "--db and --rank do not go together: which is it to be?");
  for (const char* name : {"op", "shape"}) {
    if (!given(name)) fail(ErrorKind::usage, "inspect needs --{}; see 'wavetune inspect --help'", name);
  }
  return false;
}

}  // namespace

int inspect_command(const std::vector<std::string>& arguments) {
  po::options_description options("Options");
  auto add = options.add_options();
  add("op", po::value<std::string>(), "operator with its number format: gemm_bf16, rmsnorm_bf16, ...");
  add("dtype", po::value<std::string>(), "the number format, when --op is the operator alone");
  add("shape", po::value<std::string>(), "gemm: MxNxK; all others by name: m=64,n=6144,residual=1");
  add("arch", po::value<std::string>()->default_value("gfx950"), "gfx950, gfx942, sm_90a, ...");
  add("config", po::value<std::string>(), "parameter values that replace those of the configuration started from");
  add("db", po::value<std::string>(), "start from this database's winner (or best predicted one), not the default");
  add("rank", po::value<int>(), "start from the best of so many configurations ranked by the analytic model");
  add("code-object", po::value<std::string>(), "an ELF code object instead of an operator");
  add("kernel", po::value<std::string>(), "only this kernel");
  add("threads", po::value<int>(), "of --code-object: threads of a block (default: the most it was compiled for)");
  add("lds", po::value<int>()->default_value(0), "of --code-object: dynamic LDS of a launch, in bytes");
  add("disassembly", po::bool_switch(), "the instructions too, those of the inner loop marked");
  add("json", po::bool_switch(), "one JSON object");
  po::variables_map values;
  if (!parse_command_line(help, options, {}, arguments, values)) return 0;
  const Inspection inspection = is_file_form(values) ? inspect_file(values) : inspect_operator(values);
  const bool disassembly = values["disassembly"].as<bool>();
  std::cout << (values["json"].as<bool>() ? inspection_json(inspection, disassembly).dump(2) + "\n"
                                          : inspection_text(inspection, disassembly));
  return 0;
}

}  // namespace wavetune
