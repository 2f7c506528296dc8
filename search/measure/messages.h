// What the driver asks of a measuring process, and what it answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "db/trial.h"
#include "search/measure/timing.h"

namespace wavetune::measure {

struct MeasureRequest {
  db::Problem problem;
  db::Config config;
  std::span<const std::byte> code;  ///< the compiled kernels of that configuration
  double incumbent_us = 0;          ///< best so far; 0: none
  std::uint64_t seed = 1;           ///< of the input data; a change makes inputs and reference anew
  TimingLimits timing;
};

struct MeasureResult {
  db::Outcome outcome = db::Outcome::ok;
  double median_us = 0;
  std::vector<double> samples_us;
  double max_error = 0;     ///< in units of the tolerance
  db::Resources resources;  ///< what the driver says of the loaded functions; empty where it does not
  db::DeviceState state;
  std::string error;
  double busy_us = 0;  ///< in which the device had copies and kernels of this request to work on
};

struct ContestEntry {
  db::Config config;
  std::span<const std::byte> code;
};

/// Configurations of one problem to be timed in turns.
struct ContestRequest {
  db::Problem problem;
  std::vector<ContestEntry> entries;
  std::uint64_t seed = 1;  ///< of the input data, as in MeasureRequest
  TimingLimits timing;
};

nlohmann::json timing_to_json(const TimingLimits& limits);
TimingLimits timing_from_json(const nlohmann::json& json);
nlohmann::json result_to_json(const MeasureResult& result);
MeasureResult result_from_json(const nlohmann::json& json);

}  // namespace wavetune::measure
