#include "search/driver/spec_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "db/base/error.h"
#include "search/driver/interrupt.h"
#include "search/driver/run_end.h"
#include "search/driver/spec_summary.h"
#include "search/report/live_report.h"
#include "search/report/report_facts.h"

namespace wavetune::search {
namespace {

namespace po = boost::program_options;

void refuse_model_options(const po::variables_map& values) {
  for (const char* name : {"op", "tp", "objective", "concurrency", "decode-batches", "prefill-tokens", "context",
                           "max-context", "node-devices", "dense-format", "expert-format", "shard"}) {
    if (values.count(name) != 0 && !values[name].defaulted())
      fail(ErrorKind::usage, "--{} belongs to --model; with --spec the T1 file says everything", name);
  }
}

/// The file's own Budget, where the command line says nothing.
void take_budget(const nlohmann::json& budget, const po::variables_map& values, TunerOptions& tuning) {
  for (const nlohmann::json& limit : budget.is_array() ? budget : nlohmann::json::array({budget})) {
    if (!limit.is_object() || !limit.contains("BudgetValue") || !limit["BudgetValue"].is_number()) continue;
    const std::string type =
        limit.contains("Type") && limit["Type"].is_string() ? limit["Type"].get<std::string>() : "";
    const double value = limit["BudgetValue"].get<double>();
    if (type == "ConfigurationCount" && values["trials"].defaulted() && value >= 1 && value < 1e9)
      tuning.trials = static_cast<int>(value);
    if (type == "TuningDuration" && values["budget"].defaulted() && value > 0) tuning.budget_s = value;
  }
}

}  // namespace

std::shared_ptr<const measure::ExternalKernel> external_kernel(const templates::SpecOperator& op,
                                                               const TunerOptions& tuning,
                                                               const hip::Provider& provider) {
  auto external = std::make_shared<measure::ExternalKernel>();
  external->spec = std::filesystem::absolute(op.file().path);
  external->source_hash = templates::source_hash(op);
  if (!op.has_reference_kernel()) return external;
  jit::CompileOptions options = tuning.compile;
  options.workers = 1;
  if (options.worker_executable.empty()) options.worker_executable = tuning.worker_executable;
  jit::CompileService compiler(options);
  jit::CompileRequest request{tuning.device, provider.prelude() + op.reference_source(),
                              provider.compile_options(provider.devices().front())};
  for (std::string& option : op.compile_options()) request.options.push_back(std::move(option));
  jit::CompileResult compiled = compiler.compile(std::move(request));
  if (compiled.outcome != db::Outcome::ok) {
    fail(ErrorKind::bad_data, "{}: the reference, {}, cannot be compiled ({}): {}", op.file().path.string(),
         op.reference_description(), db::to_string(compiled.outcome), compiled.log);
  }
  external->reference_code = std::move(compiled.code);
  return external;
}

int run_spec(const po::variables_map& values, TunerOptions tuning) {
  refuse_model_options(values);
  const templates::SpecOperator op(values["spec"].as<std::string>());
  take_budget(op.file().budget, values, tuning);
  const auto provider = hip::load_provider(hip::parse_device_spec(tuning.device));
  tuning.external = external_kernel(op, tuning, *provider);
  db::Database database = db::Database::open(values["db"].as<std::string>(), db::OpenMode::create);

  const InterruptGuard interrupt;
  Reporter reporter(values["json"].as<bool>() ? ReportStyle::json : ReportStyle::automatic);
  for (const std::string& note : op.spec().notes) reporter.note(note);
  Tuner tuner(std::move(tuning), database, *provider);
  const measure::DevicePeak peak = tuner.peak();
  const std::vector<TuneTask> tasks = {{&op, op.problem(), 1}};
  const auto live =
      report::follow(reporter, values["html"].as<std::string>(), database, {{op.problem().op}, tuner.environment()},
                     report::live_facts(tasks, peak, provider->devices().front().limits));
  const TuneReport report = tuner.run(tasks, reporter);
  reporter.finish();
  if (live) live->finish();
  const SpecSummary summary = spec_summary(op, database, tuner.environment(), peak);
  if (report.interrupted || summary.tried > 0) report_end(report, reporter, database.path().string());
  if (report.interrupted) return interrupted_exit_code;
  if (summary.ok == 0) fail(ErrorKind::bad_data, "{}", without_winner(op, summary));
  std::cout << (reporter.json() ? spec_event(summary) : spec_text(op, summary)) << std::flush;
  return 0;
}

}  // namespace wavetune::search
