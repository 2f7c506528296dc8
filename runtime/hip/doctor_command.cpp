#include "runtime/hip/doctor_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "db/base/command_line.h"
#include "runtime/hip/doctor.h"

namespace wavetune {
namespace {

using hip::Diagnosis;

nlohmann::ordered_json as_json(const Diagnosis& found) {
  nlohmann::ordered_json json;
  json["hip_headers"] = fmt::format("{}.{}", HIP_VERSION_MAJOR, HIP_VERSION_MINOR);
  for (const hip::ProviderStatus& status : found.providers) {
    json["providers"].push_back(
        {{"name", to_string(status.kind)}, {"usable", status.usable}, {"detail", status.detail}});
  }
  json["devices"] = nlohmann::ordered_json::array();
  for (const hip::DeviceInfo& device : found.devices) {
    json["devices"].push_back({{"index", device.index},
                               {"name", device.name},
                               {"arch", device.arch},
                               {"cu_count", device.cu_count},
                               {"memory_bytes", device.memory_bytes},
                               {"wave_size", device.limits.wave_size},
                               {"lds_bytes", device.limits.lds_bytes}});
  }
  for (const hip::Finding& finding : found.findings) {
    json["findings"].push_back({{"name", finding.name},
                                {"health", to_string(finding.health)},
                                {"detail", finding.detail},
                                {"cost", finding.cost}});
  }
  return json;
}

void print(const Diagnosis& found) {
  fmt::print("Providers (--device)\n");
  for (const hip::ProviderStatus& status : found.providers) {
    fmt::print("  {:<6} {:<9} {}\n", to_string(status.kind), status.usable ? "usable" : "not here", status.detail);
  }
  fmt::print("\nDevices\n");
  for (const hip::DeviceInfo& device : found.devices) {
    fmt::print("  {} {}: {}, {} compute units, {:.1f} GiB, waves of {}, {} KiB LDS\n", device.index, device.name,
               device.arch, device.cu_count, static_cast<double>(device.memory_bytes) / (1 << 30),
               device.limits.wave_size, device.limits.lds_bytes / 1024);
  }
  if (found.devices.empty()) fmt::print("  none that kernels can be compiled for\n");
  fmt::print("\nCompilers, libraries and folders\n");
  for (const hip::Finding& finding : found.findings) {
    fmt::print("  {:<17} {:<8} {}\n", finding.name, to_string(finding.health), finding.detail);
    if (!finding.cost.empty()) fmt::print("  {:<17} {:<8} -> {}\n", "", "", finding.cost);
  }
}

}  // namespace

int doctor_command(const std::vector<std::string>& arguments) {
  const CommandHelp help{"doctor",
                         "doctor [--json]",
                         "Prints devices, compilers, libraries and versions found, and what each missing one costs.",
                         {"wavetune doctor", "wavetune doctor --json | jq .devices"}};
  boost::program_options::options_description options("Options");
  options.add_options()("json", "print JSON");
  boost::program_options::variables_map values;
  if (!parse_command_line(help, options, {}, arguments, values)) return 0;
  const Diagnosis found = hip::diagnose();
  if (values.count("json") != 0) {
    fmt::print("{}\n", as_json(found).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  } else {
    print(found);
  }
  return found.devices.empty() ? 1 : 0;
}

}  // namespace wavetune
