// Trials of a live tune: compiled by worker processes, looked at, measured by the device's process.
#pragma once

#include "search/driver/shape_tuner.h"
#include "search/driver/trial_maker.h"

namespace wavetune::search {

class LiveTrials : public TrialMaker {
 public:
  /// All must outlive it; `client` is used by the thread that calls measure() only.
  LiveTrials(const TuneContext& context, const TuneTask& task, measure::MeasureClient& client);

  void prepare(const db::Config& config, Done done) override;
  void check(const db::Config& config, Prepared& prepared) override;
  std::optional<db::Trial> measure(const db::Config& config, Prepared& prepared, double incumbent_us,
                                   const std::function<bool()>& give_up) override;
  void give_up_all() override { context_.compiler.give_up_all(); }

 private:
  const TuneContext& context_;
  const TuneTask& task_;
  measure::MeasureClient& client_;
  db::Config default_config_;
};

}  // namespace wavetune::search
