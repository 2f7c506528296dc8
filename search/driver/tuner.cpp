#include "search/driver/tuner.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "db/base/error.h"
#include "db/base/host.h"
#include "search/driver/compare.h"
#include "search/driver/device_peaks.h"
#include "search/driver/device_thread.h"
#include "search/driver/interrupt.h"
#include "search/driver/shape_tuner.h"
#include "search/driver/summary.h"
#include "search/driver/tuner_run.h"
#include "search/driver/winner_code.h"
#include "search/measure/device_checks.h"

namespace wavetune::search {

Tuner::Tuner(TunerOptions options, db::Database& database, const hip::Provider& provider)
    : options_(std::move(options)),
      database_(database),
      provider_(provider),
      environment_(hip::environment_of(provider, provider.devices().front())),
      compiler_([&] {
        jit::CompileOptions compile = options_.compile;
        if (compile.worker_executable.empty()) compile.worker_executable = options_.worker_executable;
        return compile;
      }()) {
  if (options_.machine.empty()) options_.machine = host_name();
  if (!options_.timing) options_.timing = measure::default_timing(provider.kind());
  if (!options_.kernel_source) options_.kernel_source = templates::kernel_source;
  if (!options_.source_hash) {
    options_.source_hash = [hashes = std::make_shared<std::map<std::string, std::string, std::less<>>>(),
                            mutex = std::make_shared<std::mutex>()](const templates::Operator& op) {
      const std::lock_guard lock(*mutex);
      std::string& hash = (*hashes)[std::string(op.name())];
      if (hash.empty()) hash = templates::source_hash(op);
      return hash;
    };
  }
}

Tuner::~Tuner() = default;

const measure::DevicePeak& Tuner::peak() {
  if (!peak_) {
    measure::MeasureClientOptions options;
    options.device = options_.device;
    options.worker_executable = options_.worker_executable;
    measure::MeasureClient client(std::move(options));
    peak_ = std::make_unique<measure::DevicePeak>(
        device_peaks(provider_, options_.device, compiler_, client, options_.compile.cache_directory));
  }
  return *peak_;
}

/// The host looks at the operands of the CPU's kernels: they are in its own memory.
void Tuner::prepare_checks() {
  if (options_.checks || provider_.kind() == hip::ProviderKind::cpu) return;
  const jit::CompileResult compiled =
      compiler_.compile({options_.device, provider_.prelude() + measure::device_checks_source(),
                         provider_.compile_options(provider_.devices().front())});
  if (compiled.outcome != db::Outcome::ok) {
    fail(ErrorKind::device, "cannot compile the kernels that check operands ({}): {}", db::to_string(compiled.outcome),
         compiled.log);
  }
  options_.checks = std::make_shared<const std::vector<std::byte>>(compiled.code);
}

std::string Tuner::summary(const std::vector<TuneTask>& tasks, std::size_t most) {
  Reporter quiet(ReportStyle::quiet);
  const TuneContext context{options_, database_, provider_, environment_, compiler_, peak(), quiet};
  return summary_text(summary_rows(context, tasks), most);
}

void Tuner::set_current_sources(const std::vector<const templates::Operator*>& ops) {
  std::set<std::string_view> known;
  for (const templates::Operator* op : ops) {
    if (known.insert(op->name()).second) database_.set_current_source(op->name(), options_.source_hash(*op));
  }
}

void Tuner::compare(const std::vector<Comparison>& shapes, Reporter& reporter,
                    const std::function<void(const Comparison&, const std::vector<db::Trial>&)>& done) {
  std::vector<const templates::Operator*> ops;
  for (const Comparison& shape : shapes) ops.push_back(shape.task.op);
  set_current_sources(ops);
  prepare_checks();
  const TuneContext context{options_, database_, provider_, environment_, compiler_, peak(), reporter};
  const Budget budget(options_.budget_s, 0, begin_);
  Slice slice;
  slice.patience = [&budget] {
    return budget.spent() || InterruptGuard::requested() ? Patience::none : Patience::go_on;
  };
  DeviceThread device;
  measure::MeasureClient client(client_options(context, 0));
  for (const Comparison& shape : shapes) {
    if (slice.patience() != Patience::go_on) return;
    try {
      const std::vector<db::Trial> trials =
          compare_configurations(context, shape.task, shape.configs, client, device, slice);
      keep_winner_code(context, shape.task);
      done(shape, trials);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::io || error.kind() == ErrorKind::bad_data) throw;
      reporter.warning(fmt::format("{} is left out: {}", shape.task.problem.key(), error.what()));
    }
  }
}

TuneReport Tuner::run(std::vector<TuneTask> tasks, Reporter& reporter) {
  std::stable_sort(tasks.begin(), tasks.end(),
                   [](const TuneTask& a, const TuneTask& b) { return a.weight > b.weight; });
  std::vector<const templates::Operator*> ops;
  for (const TuneTask& task : tasks) ops.push_back(task.op);
  set_current_sources(ops);
  std::vector<std::string> created;
  if (options_.budget_s != Budget::unlimited) {
    std::set<std::string> seen;
    for (const TuneTask& task : tasks) {
      if (!seen.insert(task.problem.key()).second) continue;
      std::vector<std::string> times =
          database_.trial_times(environment_, task.problem, options_.source_hash(*task.op));
      created.insert(created.end(), std::make_move_iterator(times.begin()), std::make_move_iterator(times.end()));
    }
    std::sort(created.begin(), created.end());
  }
  prepare_checks();
  const TuneContext context{options_, database_, provider_, environment_, compiler_, peak(), reporter};
  return run_tasks(context, std::move(tasks), Budget(options_.budget_s, spent_seconds(created), begin_));
}

}  // namespace wavetune::search
