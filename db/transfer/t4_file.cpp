#include "db/transfer/t4_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "db/base/error.h"
#include "db/base/file.h"
#include "db/base/gzip.h"
#include "db/json_reader.h"

namespace wavetune::db {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::array<std::pair<T4Invalidity, std::string_view>, 6> words = {{
    {T4Invalidity::timeout, "timeout"},
    {T4Invalidity::compile, "compile"},
    {T4Invalidity::runtime, "runtime"},
    {T4Invalidity::correctness, "correctness"},
    {T4Invalidity::constraints, "constraints"},
    {T4Invalidity::correct, "correct"},
}};

/// A duration: finite and not negative.
double milliseconds(const JsonReader& reader) {
  const double value = reader.number();
  if (!std::isfinite(value) || value < 0) reader.fail_here(fmt::format("is {}, which is no duration", value));
  return value;
}

double milliseconds_or_zero(const JsonReader& times, std::string_view name) {
  const auto member = times.find(name);
  return member ? milliseconds(*member) : 0;
}

T4Times read_times(const JsonReader& reader) {
  T4Times times;
  // The schema says compilation_time, the files that exist say compilation.
  const auto other_name = reader.find("compilation_time");
  times.compilation_ms = milliseconds(other_name ? *other_name : reader.at("compilation"));
  times.framework_ms = milliseconds_or_zero(reader, "framework");
  times.search_algorithm_ms = milliseconds_or_zero(reader, "search_algorithm");
  times.validation_ms = milliseconds_or_zero(reader, "validation");
  if (const auto benchmark = reader.find("benchmark")) times.benchmark_ms = milliseconds(*benchmark);
  if (const auto runtimes = reader.find("runtimes")) {
    for (const JsonReader& run : runtimes->elements()) times.runtimes_ms.push_back(milliseconds(run));
  }
  return times;
}

T4Invalidity read_invalidity(const JsonReader& reader) {
  const std::string word = reader.text();
  if (const auto known = t4_invalidity_from_string(word)) return *known;
  std::string all;
  for (const auto& entry : words) all += (all.empty() ? "" : ", ") + std::string(entry.second);
  reader.fail_here(fmt::format("'{}' is unknown; T4 has {}", word, all));
}

T4Measurement read_measurement(const JsonReader& reader) {
  T4Measurement measurement;
  measurement.name = reader.at("name").text();
  const JsonReader value = reader.at("value");
  const json& raw_value = value.json();
  if (raw_value.is_number()) {
    measurement.value = raw_value.get<double>();
  } else if (raw_value.is_string()) {
    measurement.word = raw_value.get<std::string>();
  } else if (!raw_value.is_array()) {  // lists (samples of a counter) are of no use here
    value.fail_here("must be a number, a string or a list");
  }
  if (const auto unit = reader.find("unit")) measurement.unit = unit->text();
  return measurement;
}

ordered_json read_configuration(const JsonReader& reader) {
  ordered_json configuration = ordered_json::object();
  for (const auto& [name, value] : reader.members()) {
    const json& element = value.json();
    if (!element.is_number() && !element.is_string() && !element.is_boolean()) {
      value.fail_here("must be a number, a string or a boolean");
    }
    configuration[name] = element;
  }
  if (configuration.empty()) reader.fail_here("has no parameters");
  return configuration;
}

T4Result read_result(const JsonReader& reader) {
  T4Result result;
  if (const auto timestamp = reader.find("timestamp")) result.timestamp = timestamp->text();
  result.configuration = read_configuration(reader.at("configuration"));
  result.times = read_times(reader.at("times"));
  result.invalidity = read_invalidity(reader.at("invalidity"));
  result.correctness = reader.at("correctness").number();
  if (const auto measurements = reader.find("measurements")) {
    for (const JsonReader& element : measurements->elements()) {
      result.measurements.push_back(read_measurement(element));
    }
  }
  if (const auto objectives = reader.find("objectives")) {
    for (const JsonReader& name : objectives->elements()) result.objectives.push_back(name.text());
  }
  if (result.invalidity == T4Invalidity::correct) {
    const auto value = result.value();
    if (!value) reader.fail_here("is correct, but has no number for its objective and no runtimes");
    if (!std::isfinite(*value) || *value <= 0) {
      reader.fail_here(fmt::format("is correct, but its objective is {}, which is no time", *value));
    }
  }
  return result;
}

ordered_json result_to_json(const T4Result& result) {
  ordered_json times = {{"compilation", result.times.compilation_ms},
                        {"framework", result.times.framework_ms},
                        {"search_algorithm", result.times.search_algorithm_ms},
                        {"validation", result.times.validation_ms}};
  if (result.times.benchmark_ms) times["benchmark"] = *result.times.benchmark_ms;
  // As in the public recordings, a result that was not timed has no runtimes at all.
  if (!result.times.runtimes_ms.empty()) times["runtimes"] = result.times.runtimes_ms;
  ordered_json measurements = ordered_json::array();
  for (const T4Measurement& measurement : result.measurements) {
    ordered_json value = measurement.word;
    if (measurement.value) value = *measurement.value;
    measurements.push_back({{"name", measurement.name}, {"value", std::move(value)}, {"unit", measurement.unit}});
  }
  return {{"timestamp", result.timestamp},     {"configuration", result.configuration},
          {"times", std::move(times)},         {"invalidity", to_string(result.invalidity)},
          {"correctness", result.correctness}, {"measurements", std::move(measurements)},
          {"objectives", result.objectives}};
}

std::string text_of(const ordered_json& value) {
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace

std::string_view to_string(T4Invalidity invalidity) {
  for (const auto& [known, word] : words) {
    if (known == invalidity) return word;
  }
  fail(ErrorKind::internal, "T4 invalidity {} has no word", static_cast<int>(invalidity));
}

std::optional<T4Invalidity> t4_invalidity_from_string(std::string_view word) {
  for (const auto& [invalidity, known] : words) {
    if (known == word) return invalidity;
  }
  return std::nullopt;
}

double T4Times::total_ms() const {
  const double runs = benchmark_ms ? *benchmark_ms : std::accumulate(runtimes_ms.begin(), runtimes_ms.end(), 0.0);
  return compilation_ms + framework_ms + validation_ms + runs;
}

std::optional<double> T4Result::value() const {
  if (invalidity != T4Invalidity::correct) return std::nullopt;
  const std::string objective = objectives.empty() ? "time" : objectives.front();
  const auto named = std::find_if(measurements.begin(), measurements.end(),
                                  [&objective](const T4Measurement& m) { return m.name == objective; });
  if (named != measurements.end()) return named->value;
  if (times.runtimes_ms.empty()) return std::nullopt;
  return std::accumulate(times.runtimes_ms.begin(), times.runtimes_ms.end(), 0.0) /
         static_cast<double>(times.runtimes_ms.size());
}

T4File read_t4(const std::filesystem::path& path) {
  const std::string bytes = read_file(path);
  return is_gzip(bytes) ? t4_from_text(gunzip(bytes, path.string()), path.string())
                        : t4_from_text(bytes, path.string());
}

T4File t4_from_text(std::string_view text, const std::string& name) {
  json document;
  try {
    document = json::parse(text);
  } catch (const json::parse_error& error) {
    fail(ErrorKind::bad_data, "{}: not JSON: {}", name, error.what());
  }
  try {
    const JsonReader reader(document, "");
    T4File file;
    if (const auto version = reader.find("schema_version")) file.schema_version = version->text();
    if (const auto metadata = reader.find("metadata")) {
      (void)metadata->members();  // must be an object
      file.metadata = metadata->json();
      if (const auto unit = metadata->find("timeunit")) {
        // The public files have the first spelling.
        const std::string word = unit->text();
        if (word != "miliseconds" && word != "milliseconds" && word != "ms") {
          unit->fail_here(fmt::format("is '{}'; only milliseconds can be read", word));
        }
      }
    }
    const std::vector<JsonReader> results = reader.at("results").elements();
    file.results.reserve(results.size());
    for (const JsonReader& result : results) file.results.push_back(read_result(result));
    return file;
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", name, error.what()));
  }
}

void write_t4(const T4File& file, std::ostream& out) {
  out << "{\"metadata\": " << text_of(file.metadata) << ",\n\"schema_version\": " << text_of(file.schema_version)
      << ",\n\"results\": [";
  const char* separator = "\n";
  for (const T4Result& result : file.results) {
    out << separator << text_of(result_to_json(result));
    separator = ",\n";
  }
  out << "\n]}\n";
}

}  // namespace wavetune::db
