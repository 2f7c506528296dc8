// T1 files: the auto-tuning community's description of a kernel and its parameter space
// (github.com/odgaard/TuningSchema). Here: the space; the kernel's own part is kept as JSON.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "templates/expression/expression.h"
#include "templates/space.h"

namespace wavetune::templates {

enum class T1Type { integer, floating, boolean, string };

struct T1Parameter {
  std::string name;
  T1Type type = T1Type::integer;
  std::vector<Value> values;  ///< all of `type`; numbers ascending, strings in the file's order; no two the same
  std::optional<Value> default_value;
};

struct T1Condition {
  Expression expression;
  std::vector<std::string> parameters;  ///< the parameters that the expression uses (the file's own list may lack some)
};

struct T1File {
  std::filesystem::path path;
  std::string name;  ///< General.BenchmarkName, else the kernel's name, else the file's stem
  std::vector<T1Parameter> parameters;
  std::vector<T1Condition> conditions;
  nlohmann::json kernel;   ///< the "KernelSpecification" object as it is; null when there is none
  nlohmann::json general;  ///< "General"; null when there is none
  nlohmann::json budget;   ///< "Budget"; null when there is none
};

/// Throws Error bad_data naming the file, the place in it and what to do; not_found when there is no such file.
T1File read_t1(const std::filesystem::path& path);

/// The same from text that is already in memory; `path` is for messages and the name.
T1File parse_t1(std::string_view text, const std::filesystem::path& path);

/// Parameters in the file's order. A condition that cannot be evaluated (a division by zero) throws Error bad_data when
/// the space is enumerated, naming the condition and the values.
Space space_of(const T1File& file);

/// The Default values, when every parameter has one and together they are valid.
std::optional<Config> default_config_of(const T1File& file);

/// A parameter's value as the space has it: itself for an integer, else its index among the values. Nothing when it is
/// not one of them.
std::optional<std::int64_t> space_value(const T1Parameter& parameter, const Value& value);
/// The inverse. Throws Error internal for a number that is no value.
const Value& t1_value(const T1Parameter& parameter, std::int64_t space_value);

}  // namespace wavetune::templates
