#include "db/transfer/json_import.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "db/base/error.h"
#include "db/json_reader.h"
#include "db/layout_json.h"
#include "db/transfer/json_export.h"

namespace wavetune::db {
namespace {

Environment read_environment(const JsonReader& json) {
  return {json.at("device").text(), json.at("arch").text(),     json.at("cu_count").small_integer(),
          json.at("driver").text(), json.at("compiler").text(), json.at("compiler_version").text()};
}

const Environment& find_environment(const JsonReader& json, const std::vector<Environment>& environments) {
  const JsonReader member = json.at("environment");
  const std::int64_t index = member.integer();
  if (index < 0 || index >= static_cast<std::int64_t>(environments.size())) {
    member.fail_here(fmt::format("is {}, but there are {} environments", index, environments.size()));
  }
  return environments[static_cast<size_t>(index)];
}

/// Names and values become one text in the database, so a name must not look like the text's own marks.
NamedInts read_ints(const JsonReader& json) {
  NamedInts values;
  for (const auto& [name, value] : json.members()) {
    if (name.empty() || name.find_first_of("=,/") != std::string::npos) value.fail_here("is not a possible name");
    values.emplace(name, value.integer());
  }
  return values;
}

Problem read_problem(const JsonReader& json) {
  Problem problem{json.at("op").text(), json.at("dtype").text(), read_ints(json.at("dims"))};
  for (const char* member : {"op", "dtype"}) {
    const std::string text = json.at(member).text();
    if (text.empty() || text.find('/') != std::string::npos) json.at(member).fail_here("is empty or has a '/'");
  }
  return problem;
}

std::optional<int> read_if_there(const JsonReader& json, const char* name) {
  const auto member = json.find(name);
  return member ? std::optional<int>(member->small_integer()) : std::nullopt;
}

Resources read_resources(const JsonReader& json) {
  const auto read = [&json](const char* name) { return read_if_there(json, name); };
  return {read("vgpr"),          read("agpr"),   read("sgpr"),     read("lds_bytes"),
          read("scratch_bytes"), read("spills"), read("occupancy")};
}

DeviceState read_state(const JsonReader& json) {
  const auto read = [&json](const char* name) { return read_if_there(json, name); };
  return {read("clock_mhz"), read("power_w"), read("temperature_c"), read("throttled")};
}

std::string read_time_stamp(const JsonReader& json) {
  const std::string text = json.text();
  // Order in time is order as text: only that form may come in.
  static constexpr std::string_view form = "dddd-dd-ddTdd:dd:dd.dddZ";
  bool fits = text.size() == form.size();
  for (size_t i = 0; fits && i < form.size(); ++i) {
    fits = form[i] == 'd' ? text[i] >= '0' && text[i] <= '9' : text[i] == form[i];
  }
  if (!fits) json.fail_here("must be a time in UTC such as 2026-08-01T12:34:56.789Z");
  return text;
}

Trial read_trial(const JsonReader& json) {
  Trial trial;
  trial.problem = read_problem(json.at("problem"));
  trial.config = read_ints(json.at("config"));
  trial.source_hash = json.at("source_hash").text();
  const JsonReader outcome = json.at("outcome");
  const auto known = outcome_from_string(outcome.text());
  if (!known) outcome.fail_here(fmt::format("'{}' is not an outcome", outcome.text()));
  trial.outcome = *known;
  const JsonReader median = json.at("median_us");
  trial.median_us = median.number();
  if (trial.median_us < 0 || (trial.outcome == Outcome::ok && trial.median_us == 0)) {
    median.fail_here("must be a positive number of microseconds");
  }
  for (const JsonReader& sample : json.at("samples_us").elements()) trial.samples_us.push_back(sample.number());
  trial.compile_ms = json.at("compile_ms").number();
  const JsonReader error = json.at("max_error");
  trial.max_error = error.is_null() ? std::numeric_limits<double>::infinity() : error.number();
  trial.resources = read_resources(json.at("resources"));
  if (const auto state = json.find("state")) trial.state = read_state(*state);
  trial.error = json.at("error").text();
  trial.created_at = read_time_stamp(json.at("created_at"));
  if (const auto machine = json.find("machine")) trial.machine = machine->text();
  return trial;
}

Layout read_layout(const JsonReader& json) {
  Layout layout;
  layout.model_id = json.at("model_id").text();
  layout.model_name = json.at("model_name").text();
  layout.devices = json.at("devices").small_integer();
  const JsonReader objective = json.at("objective");
  const auto known = objective_from_string(objective.text());
  if (!known) objective.fail_here("must be throughput or latency");
  layout.objective = *known;
  layout.tp = json.at("tp").small_integer();
  layout.dp = json.at("dp").small_integer();
  layout.created_at = read_time_stamp(json.at("created_at"));
  layout.table = rows_from_json(json.at("table"));
  return layout;
}

/// Text that export writes as one line of a file.
std::string read_line(const JsonReader& json) {
  const std::string text = json.text();
  if (text.empty() || text.find_first_of("\r\n") != std::string::npos) json.fail_here("must be one line");
  return text;
}

std::string read_file_name(const JsonReader& json) {
  const std::string text = json.text();
  if (text.empty() || text == "." || text == ".." || text.find('/') != std::string::npos) {
    json.fail_here("must be a file name without a folder");
  }
  return text;
}

PublishedTime read_published(const JsonReader& json) {
  PublishedTime row;
  row.implementation = json.at("implementation").text();
  row.arch = json.at("arch").text();
  row.cu_count = json.at("cu_count").small_integer();
  row.problem = read_problem(json.at("problem"));
  const JsonReader us = json.at("us");
  row.us = us.number();
  if (!(row.us > 0)) us.fail_here("must be a positive number of microseconds");
  row.kernel = json.at("kernel").text();
  row.header = read_line(json.at("header"));
  row.line = read_line(json.at("line"));
  row.origin = read_file_name(json.at("origin"));
  row.created_at = read_time_stamp(json.at("created_at"));
  return row;
}

ImportedDocument read_document(const JsonReader& document) {
  const JsonReader format = document.at("format");
  if (format.text() != "wavetune-db") format.fail_here("must be \"wavetune-db\"");
  const int version = document.at("version").small_integer();
  if (version < 1 || version > json_format_version) {
    fail(ErrorKind::incompatible, "has format version {}, this wavetune reads up to {}; use a newer wavetune", version,
         json_format_version);
  }
  std::vector<Environment> environments;
  for (const JsonReader& element : document.at("environments").elements())
    environments.push_back(read_environment(element));
  ImportedDocument result;
  Contents& contents = result.contents;
  for (const JsonReader& element : document.at("sources").elements()) {
    contents.sources.emplace_back(element.at("op").text(), element.at("source_hash").text());
  }
  for (const JsonReader& element : document.at("trials").elements()) {
    contents.trials.push_back({read_trial(element), find_environment(element, environments)});
  }
  for (const JsonReader& element : document.at("layouts").elements()) {
    contents.layouts.emplace_back(find_environment(element, environments), read_layout(element));
  }
  if (const auto published = document.find("published")) {
    for (const JsonReader& element : published->elements()) result.published.push_back(read_published(element));
  }
  return result;
}

}  // namespace

ImportedDocument document_from_json(std::string_view text, const std::string& name) {
  try {
    const auto json = nlohmann::json::parse(text);
    return read_document(JsonReader(json, ""));
  } catch (const nlohmann::json::exception& error) {
    fail(ErrorKind::bad_data, "{}: not JSON: {}", name, error.what());
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", name, error.what()));
  }
}

Contents contents_from_json(std::string_view text, const std::string& name) {
  return document_from_json(text, name).contents;
}

}  // namespace wavetune::db
