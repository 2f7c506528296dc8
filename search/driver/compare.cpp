#include "search/driver/compare.h"

#include <algorithm>

#include "search/driver/finalists.h"
#include "search/driver/live_trials.h"

namespace wavetune::search {

std::vector<db::Trial> compare_configurations(const TuneContext& context, const TuneTask& task,
                                              const std::vector<db::Config>& configs, measure::MeasureClient& client,
                                              DeviceThread& device, const Slice& slice) {
  PipelineOptions options;
  options.depth = static_cast<int>(configs.size());
  options.batches = context.provider.kind() == hip::ProviderKind::cpu;
  options.patience = slice.patience;
  LiveTrials maker(context, task, client);
  std::vector<db::Trial> trials;
  std::size_t next = 0;
  const PipelineEnds ends{[&]() -> std::optional<db::Config> {
                            if (next == configs.size()) return std::nullopt;
                            return configs[next++];
                          },
                          [&](const db::Trial& trial, double) {
                            context.database.add_trial(context.environment, trial);
                            trials.push_back(trial);
                          }};
  run_pipeline(maker, device, options, ends);
  const auto wrong = std::stable_partition(trials.begin(), trials.end(),
                                           [](const db::Trial& trial) { return trial.outcome == db::Outcome::ok; });
  const std::vector<db::Trial> others(wrong, trials.end());
  trials.erase(wrong, trials.end());
  const bool patient = !slice.patience || slice.patience() == Patience::go_on;
  if (trials.size() > 1 && patient) {
    if (auto in_turns = time_in_turns(context, task, client, device, slice, trials)) trials = std::move(*in_turns);
  }
  trials.insert(trials.end(), others.begin(), others.end());
  return trials;
}

}  // namespace wavetune::search
