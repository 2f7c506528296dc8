// The T4 format: a list of measured configurations, as auto-tuners exchange them (results schema 1.0.0 of the Open
// Autotuning Results Schema; the files of AutoTuningAssociation/benchmark_hub). All times in milliseconds.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace wavetune::db {

/// What was wrong with a configuration; `correct`: nothing.
enum class T4Invalidity { timeout, compile, runtime, correctness, constraints, correct };

std::string_view to_string(T4Invalidity invalidity);
/// Inverse of to_string; nothing for an unknown word.
std::optional<T4Invalidity> t4_invalidity_from_string(std::string_view word);

/// What one trial took, by phase.
struct T4Times {
  double compilation_ms = 0;
  double framework_ms = 0;
  double search_algorithm_ms = 0;
  double validation_ms = 0;
  std::optional<double> benchmark_ms;  ///< all of measuring; the public recordings have only the runs below
  std::vector<double> runtimes_ms;     ///< one run each, in the order measured; may be empty when the trial failed

  /// Everything but the search algorithm: what the trial costs whoever proposed it.
  double total_ms() const;
};

struct T4Measurement {
  std::string name;
  std::optional<double> value;  ///< nothing where the file has no number (public files: the name of an error)
  std::string word;             ///< the text that stands in the value's place
  std::string unit;
};

struct T4Result {
  std::string timestamp;
  nlohmann::ordered_json configuration;  ///< an object: parameter name -> number, text or boolean
  T4Times times;
  T4Invalidity invalidity = T4Invalidity::correct;
  double correctness = 1;
  std::vector<T4Measurement> measurements;
  std::vector<std::string> objectives;  ///< names of measurements; the first is what is minimised

  /// The first objective's measurement, or the mean of the runtimes when there is no such measurement. Nothing for an
  /// invalid result.
  std::optional<double> value() const;
};

struct T4File {
  nlohmann::ordered_json metadata = nlohmann::ordered_json::object();
  std::vector<T4Result> results;
  std::string schema_version = "1.0.0";
};

/// Reads a plain or gzip file. Throws Error: not_found, io, bad_data (truncated or damaged gzip, not JSON, a field
/// missing or of the wrong type, an unknown invalidity, a time unit other than milliseconds, a correct result without a
/// positive value: "FILE: results[3].times.compilation: must be a number").
T4File read_t4(const std::filesystem::path& path);
/// The same from memory; `name` is the file's, for messages.
T4File t4_from_text(std::string_view text, const std::string& name);

/// One result a line. Text that is not UTF-8 is written with U+FFFD in place of the broken bytes.
void write_t4(const T4File& file, std::ostream& out);

}  // namespace wavetune::db
