#include "search/driver/finalists.h"

#include <algorithm>
#include <exception>
#include <future>
#include <utility>

#include "db/base/error.h"
#include "search/driver/compile_request.h"
#include "search/driver/machine_name.h"

namespace wavetune::search {
namespace {

// Two measurements of one configuration, some time apart, differ by less; more finalists than this cost more time than
// the choice among them gains.
constexpr double nearly = 1.05;
constexpr std::size_t most_finalists = 5;

}  // namespace

std::vector<db::Trial> finalists_of(std::vector<db::Trial> trials) {
  std::erase_if(trials, [](const db::Trial& trial) { return trial.outcome != db::Outcome::ok; });
  std::ranges::stable_sort(trials, {}, &db::Trial::median_us);
  if (trials.size() > most_finalists) trials.resize(most_finalists);
  while (trials.size() > 1 && trials.back().median_us > nearly * trials.front().median_us) trials.pop_back();
  return trials;
}

std::optional<std::vector<db::Trial>> time_in_turns(const TuneContext& context, const TuneTask& task,
                                                    measure::MeasureClient& client, DeviceThread& device,
                                                    const Slice& slice, std::vector<db::Trial> finalists) {
  std::vector<std::shared_future<jit::CompileResult>> compiles;  // from the code cache, as a rule
  for (const db::Trial& trial : finalists)
    compiles.push_back(context.compiler.submit(compile_request(context, task, trial.config)));
  measure::ContestRequest request;
  request.problem = task.problem;
  request.timing = *context.options.timing;
  std::vector<std::vector<std::byte>> codes(finalists.size());
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    jit::CompileResult compiled = compiles[i].get();
    if (compiled.outcome != db::Outcome::ok) return std::nullopt;
    codes[i] = std::move(compiled.code);
    request.entries.push_back({finalists[i].config, codes[i]});
  }
  // The measuring process belongs to the device's thread.
  std::promise<std::optional<std::vector<measure::MeasureResult>>> promise;
  device.post([&] {
    try {
      promise.set_value(
          client.contest(request, [&slice] { return slice.patience && slice.patience() == Patience::none; }));
    } catch (...) {
      promise.set_exception(std::current_exception());
    }
  });
  const auto results = promise.get_future().get();
  if (!results) return std::nullopt;
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    const measure::MeasureResult& result = (*results)[i];
    // They were right alone. What went wrong now may be any one's doing: their earlier trials stay.
    if (result.outcome != db::Outcome::ok) {
      context.reporter.warning(fmt::format("{}: configurations could not be compared ({}): {}", task.problem.key(),
                                           db::to_string(result.outcome), result.error));
      return std::nullopt;
    }
  }
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    db::Trial& trial = finalists[i];
    const measure::MeasureResult& result = (*results)[i];
    trial.median_us = result.median_us;
    trial.samples_us = result.samples_us;
    trial.state = result.state;
    trial.compile_ms = 0;  // from the cache
    trial.created_at.clear();
    trial.machine = machine_name(context.options.machine, context.provider, client.device());
    context.database.add_trial(context.environment, trial);
  }
  return finalists;
}

bool decide_finalists(const TuneContext& context, const TuneTask& task, measure::MeasureClient& client,
                      DeviceThread& device, const Slice& slice, std::vector<db::Trial> trials) {
  const auto impatient = [&slice] { return slice.patience && slice.patience() != Patience::go_on; };
  std::vector<db::Trial> finalists = finalists_of(std::move(trials));
  if (finalists.size() < 2 || impatient()) return false;
  return time_in_turns(context, task, client, device, slice, std::move(finalists)).has_value();
}

}  // namespace wavetune::search
