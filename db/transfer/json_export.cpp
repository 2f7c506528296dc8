#include "db/transfer/json_export.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "db/base/time.h"
#include "db/layout_json.h"

namespace wavetune::db {
namespace {

using nlohmann::ordered_json;

std::string text_of(const ordered_json& value) {
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

ordered_json environment_to_json(const Environment& environment) {
  return {{"device", environment.device},     {"arch", environment.arch},
          {"cu_count", environment.cu_count}, {"driver", environment.driver},
          {"compiler", environment.compiler}, {"compiler_version", environment.compiler_version}};
}

ordered_json ints_to_json(const NamedInts& values) {
  ordered_json object = ordered_json::object();
  for (const auto& [name, value] : values) object[name] = value;
  return object;
}

ordered_json problem_to_json(const Problem& problem) {
  return {{"op", problem.op}, {"dtype", problem.dtype}, {"dims", ints_to_json(problem.dims)}};
}

void put(ordered_json& object, const char* name, const std::optional<int>& value) {
  if (value) object[name] = *value;
}

ordered_json resources_to_json(const Resources& resources) {
  ordered_json object = ordered_json::object();
  put(object, "vgpr", resources.vgpr);
  put(object, "agpr", resources.agpr);
  put(object, "sgpr", resources.sgpr);
  put(object, "lds_bytes", resources.lds_bytes);
  put(object, "scratch_bytes", resources.scratch_bytes);
  put(object, "spills", resources.spills);
  put(object, "occupancy", resources.occupancy);
  return object;
}

ordered_json state_to_json(const DeviceState& state) {
  ordered_json object = ordered_json::object();
  put(object, "clock_mhz", state.clock_mhz);
  put(object, "power_w", state.power_w);
  put(object, "temperature_c", state.temperature_c);
  put(object, "throttled", state.throttled);
  return object;
}

ordered_json trial_to_json(const Trial& trial, int environment) {
  ordered_json object = {{"environment", environment},
                         {"problem", problem_to_json(trial.problem)},
                         {"config", ints_to_json(trial.config)},
                         {"source_hash", trial.source_hash},
                         {"outcome", to_string(trial.outcome)},
                         {"median_us", trial.median_us},
                         {"samples_us", trial.samples_us},
                         {"compile_ms", trial.compile_ms},
                         {"max_error", nullptr},
                         {"resources", resources_to_json(trial.resources)},
                         {"error", trial.error},
                         {"created_at", trial.created_at}};
  if (std::isfinite(trial.max_error)) object["max_error"] = trial.max_error;
  if (trial.state != DeviceState{}) object["state"] = state_to_json(trial.state);
  if (!trial.machine.empty()) object["machine"] = trial.machine;
  return object;
}

ordered_json published_to_json(const PublishedTime& row) {
  return {{"implementation", row.implementation},
          {"arch", row.arch},
          {"cu_count", row.cu_count},
          {"problem", problem_to_json(row.problem)},
          {"us", row.us},
          {"kernel", row.kernel},
          {"header", row.header},
          {"line", row.line},
          {"origin", row.origin},
          {"created_at", row.created_at}};
}

/// Writes list elements one a line, with commas between them.
class ListWriter {
 public:
  ListWriter(std::ostream& out, std::string_view name) : out_(out) { out_ << ",\n\"" << name << "\": ["; }
  void add(const ordered_json& element) {
    out_ << (first_ ? "\n" : ",\n") << text_of(element);
    first_ = false;
  }
  void close() { out_ << (first_ ? "]" : "\n]"); }

 private:
  std::ostream& out_;
  bool first_ = true;
};

}  // namespace

void export_json(const Database& database, std::ostream& out, bool only_winners) {
  out << "{\"format\": \"wavetune-db\", \"version\": " << json_format_version << ", \"exported_at\": \"" << utc_now()
      << '"';
  std::map<Environment, int> index;
  ListWriter environments(out, "environments");
  for (const Environment& environment : database.environments()) {
    index.emplace(environment, static_cast<int>(index.size()));
    environments.add(environment_to_json(environment));
  }
  environments.close();

  ListWriter sources(out, "sources");
  for (const auto& [op, hash] : database.sources()) sources.add({{"op", op}, {"source_hash", hash}});
  sources.close();

  // A tune that runs meanwhile may add environments; their trials are left to the next export.
  ListWriter trials(out, "trials");
  TrialFilter filter;
  filter.only_winners = only_winners;
  database.visit_trials(filter, [&](const StoredTrial& stored) {
    const auto environment = index.find(stored.environment);
    if (environment != index.end()) trials.add(trial_to_json(stored.trial, environment->second));
  });
  trials.close();

  ListWriter layouts(out, "layouts");
  for (const auto& [environment, layout] : database.layouts()) {
    const auto found = index.find(environment);
    if (found == index.end()) continue;
    layouts.add({{"environment", found->second},
                 {"model_id", layout.model_id},
                 {"model_name", layout.model_name},
                 {"devices", layout.devices},
                 {"objective", to_string(layout.objective)},
                 {"tp", layout.tp},
                 {"dp", layout.dp},
                 {"created_at", layout.created_at},
                 {"table", ordered_json(rows_to_json(layout.table))}});
  }
  layouts.close();

  if (!only_winners) {
    ListWriter published(out, "published");
    for (const PublishedTime& row : database.published_times()) published.add(published_to_json(row));
    published.close();
  }
  out << "}\n";
}

}  // namespace wavetune::db
