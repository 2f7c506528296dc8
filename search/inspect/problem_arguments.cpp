#include "search/inspect/problem_arguments.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "db/base/error.h"
#include "templates/registry.h"

namespace wavetune::search {
namespace {

std::string default_dtype(const templates::Operator& op) {
  const std::vector<templates::DType> types = op.dtypes();
  const bool bf16 = std::find(types.begin(), types.end(), templates::DType::bf16) != types.end();
  return std::string(templates::to_string(bf16 || types.empty() ? templates::DType::bf16 : types.front()));
}

/// "4096x6144x2048" -> the numbers; nothing when it is not of that form.
std::vector<std::int64_t> numbers_by_x(std::string_view text) {
  std::vector<std::int64_t> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;;) {
    std::int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc()) return {};
    numbers.push_back(value);
    if (next == end) return numbers;
    if (*next != 'x' && *next != 'X') return {};
    at = next + 1;
  }
}

/// As a usage error: the text comes from the command line.
db::NamedInts named_ints(std::string_view text, std::string_view option) {
  try {
    return db::named_ints_from_text(text);
  } catch (const Error&) {
    fail(ErrorKind::usage, "{} '{}' is not of the form name=number,name=number", option, text);
  }
}

}  // namespace

OperatorChoice parse_operator(std::string_view text, std::string_view dtype) {
  OperatorChoice choice;
  std::string names;
  for (const templates::Operator* op : templates::all_operators()) {
    names += (names.empty() ? "" : ", ") + std::string(op->name());
    const std::string_view name = op->name();
    const bool fits = text == name || (text.starts_with(name) && text.substr(name.size()).starts_with("_"));
    if (fits && (choice.op == nullptr || name.size() > choice.op->name().size())) choice.op = op;
  }
  if (choice.op == nullptr) {
    fail(ErrorKind::usage, "there is no operator '{}'; write <operator> or <operator>_<number format>, with one of: {}",
         text, names);
  }
  const std::string_view rest = text.substr(choice.op->name().size());
  if (!rest.empty()) choice.dtype = rest.substr(1);
  if (!dtype.empty() && !choice.dtype.empty() && dtype != choice.dtype)
    fail(ErrorKind::usage, "--op {} and --dtype {} name two number formats", text, dtype);
  if (!dtype.empty()) choice.dtype = dtype;
  if (choice.dtype.empty()) choice.dtype = default_dtype(*choice.op);
  return choice;
}

db::Problem parse_problem(const OperatorChoice& choice, std::string_view shape) {
  db::Problem problem{std::string(choice.op->name()), choice.dtype, {}};
  const bool gemm = problem.op == "gemm";
  if (const std::vector<std::int64_t> numbers = numbers_by_x(shape); !numbers.empty()) {
    if (!gemm) {
      fail(ErrorKind::usage, "--shape {}: only gemm's is MxNxK; name the dimensions of {}: m=16,...", shape,
           problem.op);
    }
    if (numbers.size() != 3) fail(ErrorKind::usage, "--shape {} is not MxNxK, as 4096x6144x2048", shape);
    problem.dims = {{"m", numbers[0]}, {"n", numbers[1]}, {"k", numbers[2]}};
  } else {
    problem.dims = named_ints(shape, "--shape");
  }
  if (gemm) problem.dims.try_emplace("batch", 1);
  choice.op->check(problem);
  return problem;
}

db::Config parse_config(std::string_view text, db::Config base, const templates::Space& space) {
  const std::vector<templates::Parameter>& parameters = space.parameters();
  for (const auto& given : named_ints(text, "--config")) {
    const std::string& name = given.first;
    const std::int64_t value = given.second;
    const auto found =
        std::find_if(parameters.begin(), parameters.end(), [&](const auto& p) { return p.name == name; });
    if (found == parameters.end()) {
      std::string names;
      for (const templates::Parameter& parameter : parameters) names += (names.empty() ? "" : ", ") + parameter.name;
      fail(ErrorKind::usage, "--config: there is no parameter '{}' here; it has: {}", name, names);
    }
    if (std::find(found->values.begin(), found->values.end(), value) == found->values.end()) {
      fail(ErrorKind::usage, "--config: {}={} is not in the space; it has {}", name, value,
           fmt::join(found->values, ", "));
    }
    base.insert_or_assign(name, value);
  }
  if (const std::optional<std::string> broken = space.violation(base))
    fail(ErrorKind::usage, "configuration {} is not in the space: it breaks '{}'", db::to_text(base), *broken);
  return base;
}

}  // namespace wavetune::search
