#include "search/report/report_facts.h"

#include <map>
#include <memory>
#include <optional>

#include "db/base/error.h"
#include "runtime/hip/amd/amd_target.h"
#include "runtime/hip/provider.h"
#include "search/driver/device_peaks.h"
#include "search/driver/roofline.h"
#include "search/offline/offline_tuner.h"
#include "search/predict/machine.h"
#include "templates/registry.h"

namespace wavetune::report {
namespace {

/// What is known of a device.
struct Device {
  std::optional<measure::DevicePeak> peak;
  std::string peak_source;
  std::optional<templates::DeviceLimits> limits;
};

ShapeFacts facts_of(const templates::Operator& op, const db::Problem& problem, const Device& device) {
  ShapeFacts facts;
  // A database may hold problems of other versions, whose dimensions this build does not understand.
  try {
    op.check(problem);
    if (device.peak) {
      const double us = search::roofline_us(op.cost(problem), *device.peak, problem.dtype);
      if (us > 0) facts.roofline_us = us;
      facts.roofline_source = device.peak_source;
    }
    if (device.limits) facts.default_config = op.default_config(problem, *device.limits);
  } catch (const Error&) {
    return {};
  }
  return facts;
}

const char* provider_of(std::string_view arch) {
  if (arch.starts_with("gfx")) return "hip";
  if (arch.starts_with("sm_")) return "cuda";
  return "cpu";
}

Device device_of(const db::Environment& environment) {
  Device device;
  try {
    const auto provider = hip::load_provider(hip::parse_device_spec(provider_of(environment.arch)));
    const hip::DeviceInfo& first = provider->devices().front();
    if (hip::environment_of(*provider, first) == environment) {
      device.limits = first.limits;
      device.peak = search::kept_peaks(*provider);
      device.peak_source = "peak rates measured on this device";
    }
  } catch (const Error&) {
    // Tuned elsewhere: this machine has no such device.
  }
  if (!predict::machine_for(environment.arch)) return device;
  if (!device.limits) device.limits = hip::amd::limits_of_arch(environment.arch);
  if (!device.peak) {
    device.peak = search::data_sheet_peak(environment.arch);
    device.peak_source = "data sheet of " + environment.arch;
  }
  return device;
}

}  // namespace

FactsOf live_facts(const std::vector<search::TuneTask>& tasks, const measure::DevicePeak& peak,
                   const templates::DeviceLimits& limits) {
  auto ops = std::make_shared<std::map<db::Problem, const templates::Operator*>>();
  for (const search::TuneTask& task : tasks) ops->emplace(task.problem, task.op);
  const Device device{peak, "peak rates measured on this device", limits};
  return [ops, device](const db::Environment&, const db::Problem& problem) -> ShapeFacts {
    const auto found = ops->find(problem);
    const templates::Operator* op = found != ops->end() ? found->second : templates::find_operator(problem.op);
    return op != nullptr ? facts_of(*op, problem, device) : ShapeFacts{};
  };
}

FactsOf known_facts() {
  auto devices = std::make_shared<std::map<db::Environment, Device>>();
  return [devices](const db::Environment& environment, const db::Problem& problem) -> ShapeFacts {
    const templates::Operator* op = templates::find_operator(problem.op);
    if (op == nullptr) return {};
    const auto [at, is_new] = devices->try_emplace(environment);
    if (is_new) at->second = device_of(environment);
    return facts_of(*op, problem, at->second);
  };
}

}  // namespace wavetune::report
