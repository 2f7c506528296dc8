#include "search/driver/live_trials.h"

#include <utility>

#include "search/driver/compile_request.h"
#include "search/driver/machine_name.h"
#include "search/driver/static_check.h"

namespace wavetune::search {
namespace {

struct Compiled : TrialMaker::Prepared {
  jit::CompileResult result;
  StaticCheck check;
};

}  // namespace

LiveTrials::LiveTrials(const TuneContext& context, const TuneTask& task, measure::MeasureClient& client)
    : context_(context),
      task_(task),
      client_(client),
      default_config_(task.op->default_config(task.problem, context.limits())) {}

void LiveTrials::prepare(const db::Config& config, Done done) {
  context_.compiler.submit(compile_request(context_, task_, config),
                           [done = std::move(done)](const std::shared_future<jit::CompileResult>& future) {
                             auto compiled = std::make_shared<Compiled>();
                             try {
                               compiled->result = future.get();
                             } catch (...) {
                               return done(nullptr, std::current_exception());
                             }
                             done(std::move(compiled), nullptr);
                           });
}

void LiveTrials::check(const db::Config& config, Prepared& prepared) {
  auto& compiled = static_cast<Compiled&>(prepared);
  if (compiled.result.outcome != db::Outcome::ok) return;
  compiled.check = check_statically(*task_.op, task_.problem, config, compiled.result.code, context_.limits());
  // The default configuration is measured even when it spills: it is what runs where nothing is tuned, and what the
  // others are compared with.
  if (compiled.check.outcome == db::Outcome::pruned && config == default_config_)
    compiled.check.outcome = db::Outcome::ok;
}

std::optional<db::Trial> LiveTrials::measure(const db::Config& config, Prepared& prepared, double incumbent_us,
                                             const std::function<bool()>& give_up) {
  auto& compiled = static_cast<Compiled&>(prepared);
  db::Trial trial;
  trial.problem = task_.problem;
  trial.config = config;
  trial.source_hash = context_.options.source_hash(*task_.op);
  trial.machine = machine_name(context_.options.machine, context_.provider, client_.device());
  trial.compile_ms = compiled.result.milliseconds;
  trial.resources = compiled.result.resources;
  trial.outcome = compiled.result.outcome;
  if (trial.outcome != db::Outcome::ok) {
    trial.error = compiled.result.log;
    return trial;
  }
  trial.resources.occupancy = compiled.check.occupancy;
  if (compiled.check.outcome != db::Outcome::ok) {
    trial.outcome = compiled.check.outcome;
    trial.error = compiled.check.reason;
    return trial;
  }
  measure::MeasureRequest request;
  request.problem = task_.problem;
  request.config = config;
  request.code = compiled.result.code;
  request.incumbent_us = incumbent_us;
  request.timing = *context_.options.timing;
  std::optional<measure::MeasureResult> result = client_.measure(request, give_up);
  if (!result) return std::nullopt;
  trial.outcome = result->outcome;
  trial.median_us = result->median_us;
  trial.samples_us = std::move(result->samples_us);
  trial.max_error = result->max_error;
  trial.error = std::move(result->error);
  trial.state = result->state;
  if (trial.resources == db::Resources{}) trial.resources = result->resources;
  return trial;
}

}  // namespace wavetune::search
