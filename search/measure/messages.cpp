#include "search/measure/messages.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "runtime/jit/resources_json.h"

namespace wavetune::measure {

nlohmann::json timing_to_json(const TimingLimits& limits) {
  return {{"sample_us", limits.sample_us},           {"warm_up_us", limits.warm_up_us},   {"cap_us", limits.cap_us},
          {"min_samples", limits.min_samples},       {"max_samples", limits.max_samples}, {"settled", limits.settled},
          {"give_up_factor", limits.give_up_factor}, {"near_tie", limits.near_tie}};
}

TimingLimits timing_from_json(const nlohmann::json& json) {
  TimingLimits limits;
  limits.sample_us = json.at("sample_us").get<double>();
  limits.warm_up_us = json.at("warm_up_us").get<double>();
  limits.cap_us = json.at("cap_us").get<double>();
  limits.min_samples = json.at("min_samples").get<int>();
  limits.max_samples = json.at("max_samples").get<int>();
  limits.settled = json.at("settled").get<double>();
  limits.give_up_factor = json.at("give_up_factor").get<double>();
  limits.near_tie = json.at("near_tie").get<double>();
  return limits;
}

nlohmann::json result_to_json(const MeasureResult& result) {
  nlohmann::json json = {{"outcome", db::to_string(result.outcome)},
                         {"median_us", result.median_us},
                         {"samples_us", result.samples_us},
                         {"resources", jit::resources_to_json(result.resources)},
                         {"error", result.error},
                         {"busy_us", result.busy_us}};
  const auto put = [&json](const char* name, const std::optional<int>& value) {
    if (value) json[name] = *value;
  };
  put("clock_mhz", result.state.clock_mhz);
  put("power_w", result.state.power_w);
  put("temperature_c", result.state.temperature_c);
  put("throttled", result.state.throttled);
  // JSON has no infinity, and a NaN in the output is an infinite error.
  if (std::isfinite(result.max_error)) json["max_error"] = result.max_error;
  return json;
}

MeasureResult result_from_json(const nlohmann::json& json) {
  MeasureResult result;
  result.outcome = db::outcome_from_string(json.at("outcome").get<std::string>()).value_or(db::Outcome::fault);
  result.median_us = json.at("median_us").get<double>();
  result.samples_us = json.at("samples_us").get<std::vector<double>>();
  result.max_error = json.value("max_error", std::numeric_limits<double>::infinity());
  result.resources = jit::resources_from_json(json.at("resources"));
  result.error = json.at("error").get<std::string>();
  result.busy_us = json.at("busy_us").get<double>();
  const auto read = [&json](const char* name) {
    const auto at = json.find(name);
    return at == json.end() ? std::optional<int>() : std::optional<int>(at->get<int>());
  };
  result.state = {read("clock_mhz"), read("power_w"), read("temperature_c"), read("throttled")};
  return result;
}

}  // namespace wavetune::measure
