#include "db/commands/show.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "db/commands/table.h"
#include "db/layout_json.h"
#include "db/machines.h"

namespace wavetune::db {
namespace {

/// op -> outcome -> trials.
using Counts = std::map<std::string, std::map<Outcome, std::int64_t>>;

struct Section {
  Environment environment;
  Counts counts;
  std::vector<Trial> winners;
  Counts offline = {};                                ///< configurations compiled without a device, of any source hash
  std::map<std::string, std::int64_t> machines = {};  ///< trials by where they were made
};

std::vector<Section> sections_of(const Database& database, std::string_view op) {
  std::vector<Section> sections;
  for (const Environment& environment : database.environments()) sections.push_back({environment, {}, {}});
  const auto section_of = [&sections](const Environment& environment) {
    return std::find_if(sections.begin(), sections.end(),
                        [&](const Section& section) { return section.environment == environment; });
  };
  for (const OutcomeCount& count : database.outcome_counts()) {
    const auto section = section_of(count.environment);
    if (section != sections.end() && (op.empty() || op == count.op))
      section->counts[count.op][count.outcome] = count.count;
  }
  for (const Machine& machine : op.empty() ? database.machine_counts() : std::vector<Machine>()) {
    const auto section = section_of(machine.environment);
    if (section != sections.end()) section->machines[machine.name] = machine.trials;
  }
  TrialFilter filter;
  filter.only_winners = true;
  if (!op.empty()) filter.op = std::string(op);
  for (StoredTrial& stored : database.trials(filter)) {
    const auto section = section_of(stored.environment);
    if (section != sections.end()) section->winners.push_back(std::move(stored.trial));
  }
  for (Section& section : sections) {
    if (section.environment.device == offline_device) {
      for (const OfflineTrial& trial : database.offline_trials(section.environment)) {
        if (op.empty() || op == trial.problem.op) ++section.offline[trial.problem.op][trial.outcome];
      }
    }
    std::sort(section.winners.begin(), section.winners.end(),
              [](const Trial& a, const Trial& b) { return a.problem < b.problem; });
  }
  return sections;
}

/// How far the samples lie apart, in per cent of the median.
double spread_percent(const Trial& trial) {
  if (trial.samples_us.empty() || trial.median_us <= 0) return 0;
  const auto [low, high] = std::minmax_element(trial.samples_us.begin(), trial.samples_us.end());
  return (*high - *low) / trial.median_us * 100;
}

std::string describe(const Environment& environment) {
  return fmt::format("{} ({}, {} CUs), {}, {} {}", environment.device, environment.arch, environment.cu_count,
                     environment.driver, environment.compiler, environment.compiler_version);
}

std::string describe(const std::map<Outcome, std::int64_t>& outcomes) {
  std::string text;
  for (const auto& [outcome, count] : outcomes) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", to_string(outcome), count);
  }
  return text;
}

std::string machines_text(const std::map<std::string, std::int64_t>& machines) {
  std::string text;
  for (const auto& [name, trials] : machines) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name.empty() ? "(not recorded)" : name, trials);
  }
  return text;
}

std::string layout_text(const Environment& environment, const Layout& layout) {
  std::string text =
      fmt::format("layout of {} on {} x {} for {}: TP {} x DP {}  ({})\n", layout.model_name, layout.devices,
                  environment.device, to_string(layout.objective), layout.tp, layout.dp, layout.created_at);
  Table table({{"TP", Align::right},
               {"DP", Align::right},
               {"decode tok/s", Align::right},
               {"prefill tok/s", Align::right},
               {"one stream tok/s", Align::right},
               {"decode us", Align::right},
               {"all-reduce us", Align::right},
               {"measured", Align::right},
               {"GB/device", Align::right},
               {"remark"}});
  for (const LayoutRow& row : layout.table) {
    const bool chosen = row.tp == layout.tp && row.dp == layout.dp;
    table.add({fmt::format("{}", row.tp), fmt::format("{}", row.dp), fmt::format("{:.1f}", row.decode_tokens_per_s),
               fmt::format("{:.1f}", row.prefill_tokens_per_s), fmt::format("{:.1f}", row.single_stream_tokens_per_s),
               fmt::format("{:.1f}", row.decode_step_us), fmt::format("{:.1f}", row.all_reduce_us),
               fmt::format("{:.0f} %", row.measured_share * 100),
               fmt::format("{:.2f}", row.memory_bytes_per_device / 1e9),
               fmt::format("{}{}{}", chosen ? "chosen" : "", chosen && !row.reason.empty() ? "; " : "", row.reason)});
  }
  return text + table.text("  ") + '\n';
}

/// Rows of another stack's tables for one kind of problem.
struct PublishedKind {
  std::string implementation, arch;
  int cu_count = 0;
  std::string op, dtype;

  auto operator<=>(const PublishedKind&) const = default;
};

std::map<PublishedKind, std::int64_t> published_kinds(const Database& database, std::string_view op) {
  std::map<PublishedKind, std::int64_t> counts;
  for (const PublishedTime& row : database.published_times()) {
    const Problem& problem = row.problem;
    if (!op.empty() && op != problem.op) continue;
    ++counts[{row.implementation, row.arch, row.cu_count, problem.op, problem.dtype}];
  }
  return counts;
}

std::string published_text(const Database& database, std::string_view op) {
  Table table({{"published by"}, {"arch"}, {"CUs", Align::right}, {"op"}, {"dtype"}, {"rows", Align::right}});
  for (const auto& [kind, rows] : published_kinds(database, op)) {
    table.add({kind.implementation, kind.arch, fmt::format("{}", kind.cu_count), kind.op, kind.dtype,
               fmt::format("{}", rows)});
  }
  if (table.empty()) return "";
  return "times that others publish (to compare with; they never win)\n" + table.text("  ") + '\n';
}

}  // namespace

std::string show_as_text(const Database& database, std::string_view op) {
  std::string text = fmt::format("{}: schema {}, {} trials\n\n", database.path().string(), database.schema_version(),
                                 database.count_trials());
  for (const Section& section : sections_of(database, op)) {
    text += describe(section.environment) + '\n';
    if (section.environment.device == offline_device) {
      Table offline({{"compiled without a device"}, {"outcomes"}});
      for (const auto& [name, outcomes] : section.offline) offline.add({name, describe(outcomes)});
      text += offline.text("  ") + '\n';
      continue;
    }
    Table trials({{"trials of"}, {"outcomes"}});
    for (const auto& [name, outcomes] : section.counts) trials.add({name, describe(outcomes)});
    text += trials.empty() ? "  no trials\n" : trials.text("  ");
    if (!section.machines.empty()) text += fmt::format("  made on {}\n", machines_text(section.machines));
    Table winners(
        {{"winner of"}, {"us", Align::right}, {"spread", Align::right}, {"samples", Align::right}, {"configuration"}});
    for (const Trial& trial : section.winners) {
      winners.add({trial.problem.key(), fmt::format("{:.2f}", trial.median_us),
                   fmt::format("{:.1f} %", spread_percent(trial)), fmt::format("{}", trial.samples_us.size()),
                   to_text(trial.config)});
    }
    text += winners.empty() ? "  no winners: nothing ok with the current sources\n" : winners.text("  ");
    text += '\n';
  }
  for (const auto& [environment, layout] : database.layouts()) text += layout_text(environment, layout);
  return text + published_text(database, op);
}

std::string show_as_json(const Database& database, std::string_view op) {
  using nlohmann::ordered_json;
  const auto named = [](const NamedInts& values) {
    ordered_json object = ordered_json::object();
    for (const auto& [name, value] : values) object[name] = value;
    return object;
  };
  ordered_json environments = ordered_json::array();
  const auto counted = [](const Counts& counts) {
    ordered_json object = ordered_json::object();
    for (const auto& [name, outcomes] : counts) {
      for (const auto& [outcome, count] : outcomes) object[name][std::string(to_string(outcome))] = count;
    }
    return object;
  };
  for (const Section& section : sections_of(database, op)) {
    ordered_json winners = ordered_json::array();
    for (const Trial& trial : section.winners) {
      winners.push_back({{"problem", trial.problem.key()},
                         {"op", trial.problem.op},
                         {"dtype", trial.problem.dtype},
                         {"dims", named(trial.problem.dims)},
                         {"config", named(trial.config)},
                         {"median_us", trial.median_us},
                         {"samples_us", trial.samples_us},
                         {"source_hash", trial.source_hash},
                         {"created_at", trial.created_at}});
    }
    const Environment& environment = section.environment;
    environments.push_back({{"device", environment.device},
                            {"arch", environment.arch},
                            {"cu_count", environment.cu_count},
                            {"driver", environment.driver},
                            {"compiler", environment.compiler},
                            {"compiler_version", environment.compiler_version},
                            {"trials", counted(section.counts)},
                            {"machines", section.machines},
                            {"offline", counted(section.offline)},
                            {"winners", std::move(winners)}});
  }
  ordered_json layouts = ordered_json::array();
  for (const auto& [environment, layout] : database.layouts()) {
    layouts.push_back({{"device", environment.device},
                       {"model_id", layout.model_id},
                       {"model_name", layout.model_name},
                       {"devices", layout.devices},
                       {"objective", to_string(layout.objective)},
                       {"tp", layout.tp},
                       {"dp", layout.dp},
                       {"created_at", layout.created_at},
                       {"table", ordered_json(rows_to_json(layout.table))}});
  }
  ordered_json published = ordered_json::array();
  for (const auto& [kind, rows] : published_kinds(database, op)) {
    published.push_back({{"implementation", kind.implementation},
                         {"arch", kind.arch},
                         {"cu_count", kind.cu_count},
                         {"op", kind.op},
                         {"dtype", kind.dtype},
                         {"rows", rows}});
  }
  const ordered_json document = {{"path", database.path().string()},
                                 {"schema_version", database.schema_version()},
                                 {"environments", std::move(environments)},
                                 {"layouts", std::move(layouts)},
                                 {"published", std::move(published)}};
  return document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace wavetune::db
