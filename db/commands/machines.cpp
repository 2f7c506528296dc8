#include "db/commands/machines.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "db/commands/table.h"

namespace wavetune::db {
namespace {

std::string name_of(const Machine& machine) { return machine.name.empty() ? "(not recorded)" : machine.name; }

std::string percent(const MachineComparison& comparison) {
  return fmt::format("{:+.1f} % +- {:.1f}", 100 * (comparison.ratio - 1),
                     100 * comparison.ratio * comparison.standard_error);
}

std::string remark_of(const MachineComparison& comparison) {
  if (comparison.deviates) return comparison.ratio > 1 ? "slower than the others" : "faster than the others";
  return comparison.common > 0 && comparison.common < fewest_common ? "too few to tell" : "";
}

}  // namespace

std::string machines_as_text(const std::vector<Machine>& machines) {
  std::string text;
  for (std::size_t first = 0; first < machines.size();) {
    const Environment& environment = machines[first].environment;
    text += fmt::format("{} ({}, {} CUs), {}, {} {}\n", environment.device, environment.arch, environment.cu_count,
                        environment.driver, environment.compiler, environment.compiler_version);
    Table table({{"machine"},
                 {"trials", Align::right},
                 {"ok", Align::right},
                 {"measured elsewhere too", Align::right},
                 {"time against the others", Align::right},
                 {"remark"}});
    for (; first < machines.size() && machines[first].environment == environment; ++first) {
      const Machine& machine = machines[first];
      const MachineComparison& comparison = machine.against_others;
      table.add({name_of(machine), fmt::format("{}", machine.trials), fmt::format("{}", machine.ok),
                 fmt::format("{}", comparison.common), comparison.common > 0 ? percent(comparison) : "",
                 remark_of(comparison)});
    }
    text += table.text("  ") + '\n';
  }
  return text + deviations_text(machines);
}

std::string machines_as_json(const std::vector<Machine>& machines) {
  using nlohmann::ordered_json;
  ordered_json list = ordered_json::array();
  for (const Machine& machine : machines) {
    const Environment& environment = machine.environment;
    const MachineComparison& comparison = machine.against_others;
    ordered_json object = {{"device", environment.device},
                           {"arch", environment.arch},
                           {"cu_count", environment.cu_count},
                           {"driver", environment.driver},
                           {"compiler", environment.compiler},
                           {"compiler_version", environment.compiler_version},
                           {"machine", machine.name},
                           {"trials", machine.trials},
                           {"ok", machine.ok},
                           {"common", comparison.common}};
    if (comparison.common > 0) {
      object["ratio"] = comparison.ratio;
      object["standard_error"] = comparison.standard_error;
    }
    object["deviates"] = comparison.deviates;
    list.push_back(std::move(object));
  }
  const ordered_json document = {{"machines", std::move(list)}};
  return document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

std::string deviations_text(const std::vector<Machine>& machines) {
  std::string text;
  for (const Machine& machine : machines) {
    const MachineComparison& comparison = machine.against_others;
    if (!comparison.deviates) continue;
    text += fmt::format(
        "machine {} is {:.1f} % {} than the others (geometric mean over {} configurations that they measured too, "
        "standard error {:.1f} %): look at its clocks, power cap and cooling (throttled?) and at its firmware, then "
        "tune there again; until then its times are not comparable\n",
        name_of(machine), 100 * std::abs(comparison.ratio - 1), comparison.ratio > 1 ? "slower" : "faster",
        comparison.common, 100 * comparison.ratio * comparison.standard_error);
  }
  return text;
}

}  // namespace wavetune::db
