#include "search/replay/recording.h"

#include <algorithm>
#include <set>
#include <utility>

#include "db/base/error.h"

namespace wavetune::replay {
namespace {

using search::PointId;
using templates::Config;
using templates::T1File;
using templates::T1Parameter;

templates::Value value_of(const nlohmann::ordered_json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  return json.get<std::string>();
}

std::string place_of(const std::filesystem::path& t4_path, std::size_t result) {
  return fmt::format("{}: results[{}].configuration", t4_path.string(), result);
}

/// The parameters of a result must be those of the space, all of them and no others.
void check_names(const T1File& t1, const db::T4Result& result, const std::filesystem::path& t4_path, std::size_t at) {
  for (const T1Parameter& parameter : t1.parameters) {
    if (result.configuration.contains(parameter.name)) continue;
    fail(ErrorKind::bad_data, "{}: parameter '{}' of {} is missing: do the two files belong together?",
         place_of(t4_path, at), parameter.name, t1.path.string());
  }
  for (const auto& [name, value] : result.configuration.items()) {
    const bool known = std::any_of(t1.parameters.begin(), t1.parameters.end(),
                                   [&key = name](const T1Parameter& p) { return p.name == key; });
    if (known) continue;
    fail(ErrorKind::bad_data, "{}: '{}' is no parameter of {}: do the two files belong together?",
         place_of(t4_path, at), name, t1.path.string());
  }
}

/// As the space has it; nothing when a value is not in its parameter's list.
std::optional<Config> config_of(const T1File& t1, const db::T4Result& result) {
  Config config;
  for (const T1Parameter& parameter : t1.parameters) {
    const auto value = templates::space_value(parameter, value_of(result.configuration.at(parameter.name)));
    if (!value) return std::nullopt;
    config.emplace(parameter.name, *value);
  }
  return config;
}

/// The space without what is not recorded. One constraint for each leading part of the parameters, so that building the
/// space leaves whole branches out instead of asking for each of their points.
templates::Space cut_down(templates::Space space, const std::vector<std::optional<Config>>& configs) {
  std::vector<std::string> names;
  for (const templates::Parameter& parameter : space.parameters()) {
    names.push_back(parameter.name);
    auto heads = std::make_shared<std::set<std::vector<std::int64_t>>>();
    const auto head_of = [names](const Config& config) {
      std::vector<std::int64_t> head;
      head.reserve(names.size());
      for (const std::string& name : names) head.push_back(config.find(name)->second);
      return head;
    };
    for (const auto& config : configs) {
      if (config) heads->insert(head_of(*config));
    }
    const std::string text = fmt::format("a record begins with these {} values", names.size());
    space.require(text, names, [heads, head_of](const Config& config) { return heads->contains(head_of(config)); });
  }
  return space;
}

RecordedTrial trial_of(const db::T4Result& result) {
  RecordedTrial trial;
  trial.invalidity = result.invalidity;
  trial.value_ms = result.value();
  trial.cost_s = result.times.total_ms() / 1000;
  trial.overhead_s = (result.times.compilation_ms + result.times.framework_ms + result.times.validation_ms) / 1000;
  trial.runs_ms = result.times.runtimes_ms;
  return trial;
}

std::string name_of(const std::filesystem::path& t4_path) {
  std::string name = t4_path.filename().string();
  for (const std::string_view ending : {".gz", ".json", "_T4", ".t4"}) {
    if (name.size() > ending.size() && name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  return name;
}

[[noreturn]] void fail_outside(const T1File& t1, const db::T4File& t4, const std::vector<std::size_t>& outside,
                               const std::filesystem::path& t4_path) {
  const std::size_t one = outside.front();
  fail(ErrorKind::bad_data,
       "{}: {} of {} results are not in the space of {}, results[{}] for one: {}; its values or conditions differ from "
       "those recorded",
       t4_path.string(), outside.size(), t4.results.size(), t1.path.string(), one,
       t4.results[one].configuration.dump());
}

/// `record` holds for each point the result's index, or the number of results.
void check_complete(const T1File& t1, const search::SearchSpace& space, const std::vector<std::size_t>& record,
                    std::size_t results, const std::filesystem::path& t4_path) {
  const auto missing = std::count(record.begin(), record.end(), results);
  if (missing == 0) return;
  const auto one = std::find(record.begin(), record.end(), results) - record.begin();
  const Config config = space.config(static_cast<PointId>(one));
  std::string text;
  for (const T1Parameter& parameter : t1.parameters) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", parameter.name,
                        templates::t1_value(parameter, config.at(parameter.name)).text());
  }
  fail(ErrorKind::bad_data,
       "{}: {} of the {} valid configurations of {} have no result, {} for one; --partial replays what is recorded",
       t4_path.string(), missing, space.size(), t1.path.string(), text);
}

}  // namespace

Recording make_recording(const T1File& t1, const db::T4File& t4, const std::filesystem::path& t4_path,
                         Coverage coverage) {
  if (t4.results.empty()) fail(ErrorKind::bad_data, "{}: there are no results in it", t4_path.string());
  std::vector<std::optional<Config>> configs;
  configs.reserve(t4.results.size());
  for (std::size_t i = 0; i < t4.results.size(); ++i) {
    check_names(t1, t4.results[i], t4_path, i);
    configs.push_back(config_of(t1, t4.results[i]));
  }
  templates::Space space = templates::space_of(t1);
  if (coverage == Coverage::partial) space = cut_down(std::move(space), configs);
  Recording recording;
  recording.name = name_of(t4_path);
  recording.space = std::make_shared<const search::SearchSpace>(std::move(space));

  const std::size_t none = t4.results.size();
  std::vector<std::size_t> record(recording.space->size(), none);
  std::vector<std::size_t> outside;
  for (std::size_t i = 0; i < none; ++i) {
    const auto point = configs[i] ? recording.space->find(*configs[i]) : std::nullopt;
    if (!point) {
      outside.push_back(i);
      continue;
    }
    std::size_t& here = record[*point];
    if (here != none) {
      fail(ErrorKind::bad_data, "{}: results[{}] and results[{}] are of the same configuration {}", t4_path.string(),
           here, i, t4.results[i].configuration.dump());
    }
    here = i;
  }
  if (!outside.empty()) fail_outside(t1, t4, outside, t4_path);
  check_complete(t1, *recording.space, record, none, t4_path);
  recording.trials.reserve(record.size());
  for (const std::size_t i : record) recording.trials.push_back(trial_of(t4.results[i]));
  return recording;
}

Recording load_recording(const std::filesystem::path& t1, const std::filesystem::path& t4, Coverage coverage) {
  return make_recording(templates::read_t1(t1), db::read_t4(t4), t4, coverage);
}

}  // namespace wavetune::replay
