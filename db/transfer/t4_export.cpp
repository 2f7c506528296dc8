#include "db/transfer/t4_export.h"

#include <cctype>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "db/base/error.h"

namespace wavetune::db {
namespace {

using nlohmann::ordered_json;

bool selected(const std::string& key, std::string_view wanted) {
  return wanted.empty() || key == wanted || (key.starts_with(wanted) && key[wanted.size()] == '/');
}

ordered_json configuration_of(const Config& config, const ValueMeaning& meaning) {
  ordered_json configuration = ordered_json::object();
  for (const auto& [name, value] : config) {
    configuration[name] = meaning ? meaning(name, value) : ordered_json(value);
  }
  return configuration;
}

std::vector<T4Measurement> measurements_of(const Trial& trial) {
  const bool ok = trial.outcome == Outcome::ok;
  std::vector<T4Measurement> measurements;
  const auto add = [&measurements](const char* name, double value) { measurements.push_back({name, value, "", ""}); };
  // As the public files have it: where there is no time, its place tells why.
  measurements.push_back({"time", ok ? std::optional(trial.median_us / 1000) : std::nullopt,
                          std::string(ok ? "" : to_string(trial.outcome)), "ms"});
  if (ok && std::isfinite(trial.max_error)) add("max_error", trial.max_error);
  const Resources& resources = trial.resources;
  if (resources.vgpr) add("vgpr", *resources.vgpr);
  if (resources.lds_bytes) add("lds_bytes", *resources.lds_bytes);
  if (resources.spills) add("spills", *resources.spills);
  if (resources.occupancy) add("occupancy", *resources.occupancy);
  return measurements;
}

T4Result result_of(const Trial& trial, const ValueMeaning& meaning) {
  T4Result result;
  result.timestamp = trial.created_at;
  result.configuration = configuration_of(trial.config, meaning);
  result.times.compilation_ms = trial.compile_ms;
  for (const double sample_us : trial.samples_us) result.times.runtimes_ms.push_back(sample_us / 1000);
  result.invalidity = t4_invalidity(trial.outcome);
  result.correctness = trial.outcome == Outcome::ok ? 1 : 0;
  result.measurements = measurements_of(trial);
  result.objectives = {"time"};
  return result;
}

/// Trials as they come, the latest of a configuration in place of earlier ones.
struct Collected {
  std::map<std::string, std::vector<Trial>> by_source;
  std::map<std::string, std::map<Config, std::size_t>> known;
  std::string latest_source;

  void add(const Trial& trial) {
    auto& trials = by_source[trial.source_hash];
    const auto [place, is_new] = known[trial.source_hash].emplace(trial.config, trials.size());
    if (is_new) {
      trials.push_back(trial);
    } else {
      trials[place->second] = trial;
    }
    latest_source = trial.source_hash;
  }
};

}  // namespace

std::string Recorded::name() const {
  std::string name = fmt::format("{}_{}_{}_{}", problem.op, problem.dtype, to_text(problem.dims), environment.device);
  for (char& c : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '=' || c == ',' || c == '.';
    if (!plain) c = '-';
  }
  return name;
}

std::vector<Recorded> recorded(const Database& database, std::string_view problem) {
  std::map<std::pair<Problem, Environment>, Collected> all;
  database.visit_trials({}, [&](const StoredTrial& stored) {
    if (!selected(stored.trial.problem.key(), problem)) return;
    Trial trial = stored.trial;
    trial.error.clear();  // compiler logs would fill the memory
    all[{trial.problem, stored.environment}].add(trial);
  });
  std::map<std::string, std::string> current;
  for (auto& [op, hash] : database.sources()) current.emplace(op, hash);
  std::vector<Recorded> result;
  for (auto& [key, collected] : all) {
    const auto& [of_problem, environment] = key;
    const auto hash = current.find(of_problem.op);
    const bool has_current = hash != current.end() && collected.by_source.contains(hash->second);
    const std::string& source = has_current ? hash->second : collected.latest_source;
    result.push_back({environment, of_problem, source, std::move(collected.by_source[source])});
  }
  return result;
}

T4File t4_of(const Recorded& recorded, const ValueMeaning& meaning) {
  const Environment& environment = recorded.environment;
  T4File file;
  file.metadata = {{"timeunit", "miliseconds"},  // as the public files spell it
                   {"device", environment.device},
                   {"arch", environment.arch},
                   {"cu_count", environment.cu_count},
                   {"driver", environment.driver},
                   {"compiler", environment.compiler},
                   {"compiler_version", environment.compiler_version},
                   {"wavetune", WAVETUNE_VERSION},
                   {"problem", recorded.problem.key()},
                   {"source_hash", recorded.source_hash},
                   {"time", "median of runtimes; a runtime is that of one launch, averaged over a sample of several"}};
  for (const Trial& trial : recorded.trials) file.results.push_back(result_of(trial, meaning));
  return file;
}

ordered_json t1_of(const Recorded& recorded) {
  std::map<std::string, std::set<std::int64_t>> values;
  for (const Trial& trial : recorded.trials) {
    for (const auto& [name, value] : trial.config) values[name].insert(value);
  }
  ordered_json parameters = ordered_json::array();
  for (const auto& [name, list] : values) {
    parameters.push_back({{"Name", name}, {"Type", "int"}, {"Values", ordered_json(list).dump()}});
  }
  ordered_json sizes = ordered_json::array();
  for (const auto& [name, size] : recorded.problem.dims) sizes.push_back(size);
  // The kernel's own part is required by the format; for replaying it is not looked at.
  return {{"General", {{"BenchmarkName", recorded.problem.key()}, {"OutputFormat", "JSON"}}},
          {"ConfigurationSpace", {{"TuningParameters", parameters}, {"Conditions", ordered_json::array()}}},
          {"KernelSpecification",
           {{"Language", "HIP"},
            {"BenchmarkName", recorded.problem.key()},
            {"KernelName", recorded.problem.op},
            {"KernelFile", ""},
            {"ProblemSize", sizes},
            {"GlobalSize", {{"X", "1"}}},
            {"LocalSize", {{"X", "1"}}}}}};
}

T4Invalidity t4_invalidity(Outcome outcome) {
  switch (outcome) {
    case Outcome::ok:
      return T4Invalidity::correct;
    case Outcome::compile_error:
    case Outcome::compile_crash:
      return T4Invalidity::compile;
    case Outcome::compile_timeout:
    case Outcome::timeout:
      return T4Invalidity::timeout;
    case Outcome::launch_error:
    case Outcome::fault:
      return T4Invalidity::runtime;
    case Outcome::wrong:
      return T4Invalidity::correctness;
    case Outcome::resource_limit:
    case Outcome::pruned:
      return T4Invalidity::constraints;
  }
  fail(ErrorKind::internal, "outcome {} has no word in T4", static_cast<int>(outcome));
}

}  // namespace wavetune::db
