#include "templates/t1/spec_operator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "db/base/error.h"
#include "db/base/file.h"
#include "templates/quick_compare.h"
#include "templates/t1/kernel_text.h"

namespace wavetune::templates {
namespace {

constexpr std::array dim_names = {"x", "y", "z"};

/// The name as part of a problem's key.
std::string key_name(const std::string& name) {
  std::string key(spec_prefix);
  for (const char c : name)
    key += c == '/' || c == ',' || c == '=' || std::isspace(static_cast<unsigned char>(c)) ? '_' : c;
  return key;
}

DType first_output(const KernelSpec& spec) {
  for (const KernelArgument& argument : spec.arguments) {
    if (argument.compared) return argument.type.dtype;
  }
  return DType::f32;
}

/// The default configuration: Default where it is valid, else the first valid one of the space.
Config usual_config(const T1File& file, const Space& space) {
  if (auto config = default_config_of(file)) return *std::move(config);
  std::optional<Config> first;
  space.visit([&first](const Config& config) {
    first = config;
    return false;
  });
  if (!first) fail(ErrorKind::bad_data, "{}: no configuration meets all conditions", file.path.string());
  return *std::move(first);
}

/// Same bytes in the document, whatever its white space: what decides results and what parameter values mean.
std::string canonical_text(const std::filesystem::path& path) {
  const nlohmann::json document = nlohmann::json::parse(read_file(path));
  return document.value("ConfigurationSpace", nlohmann::json()).dump() +
         document.value("KernelSpecification", nlohmann::json()).dump();
}

bool equal_bytes(const HostTensor& a, const HostTensor& b, std::int64_t index, std::size_t size) {
  const std::size_t at = static_cast<std::size_t>(index) * size;
  return std::memcmp(a.bytes().data() + at, b.bytes().data() + at, size) == 0;
}

/// Deviation of one element in units of the tolerance.
double deviation(double got, double expected, const Tolerance& tolerance) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  if (got == expected) return 0;
  if (!std::isfinite(got) || !std::isfinite(expected)) return infinite;
  const double limit = tolerance.absolute + tolerance.relative * std::fabs(expected);
  return limit > 0 ? std::fabs(got - expected) / limit : infinite;
}

/// Adds one output to a comparison. False when no worse deviation can follow.
bool compare_output(const KernelArgument& argument, const HostTensor& got, const HostTensor& expected,
                    Comparison& result) {
  const DType type = argument.type.dtype;
  const std::size_t size = size_of(type);
  if (const auto worst = quick_worst(got, expected, argument.tolerance); worst && *worst <= 1.0) {
    result.worst = std::max(result.worst, *worst);
    return true;
  }
  for (std::int64_t i = 0; i < got.count(); ++i) {
    // 64-bit integers are not all numbers of a double, and NaN equals no NaN.
    double d = 0;
    if (is_integer(type)) {
      if (!equal_bytes(got, expected, i, size)) d = std::numeric_limits<double>::infinity();
    } else {
      d = deviation(got.at(i), expected.at(i), argument.tolerance);
    }
    if (d <= result.worst) continue;
    result.worst = d;
    if (d > 1) {
      result.message = fmt::format("{}[{}] is {} instead of {} ({:.3g} x the tolerance)", argument.name, i, got.at(i),
                                   expected.at(i), d);
    }
    if (std::isinf(d)) return false;
  }
  return true;
}

}  // namespace

struct SpecOperator::Parts {
  explicit Parts(const std::filesystem::path& path)
      : file(read_t1(path)), spec(parse_kernel_spec(file)), space(space_of(file)), usual(usual_config(file, space)) {
    name = key_name(file.name);
    canonical = canonical_text(path);
    text = with_plain_name(read_kernel_text(spec.file), spec.kernel, spec.where, spec.arguments);
    if (const auto* kernel = std::get_if<ReferenceKernel>(&spec.reference)) {
      reference_text =
          with_plain_name(read_kernel_text(kernel->file), kernel->name, spec.where + ".Reference", spec.arguments);
    }
    sizes = size_scope(file, spec.problem_size);
    problem = {name, std::string(to_string(first_output(spec))), {}};
    for (std::size_t i = 0; i < spec.problem_size.size(); ++i) problem.dims[dim_names[i]] = spec.problem_size[i];
  }

  std::vector<std::pair<std::string, Value>> values(const Config& config) const {
    std::vector<std::pair<std::string, Value>> list;
    for (const T1Parameter& parameter : file.parameters)
      list.emplace_back(parameter.name, t1_value(parameter, config.at(parameter.name)));
    return list;
  }

  Launch launch(std::string_view kernel, const KernelLaunch& how, const Scope& scope, const Call& call) const {
    Launch launch;
    launch.kernel = plain_name(kernel);
    set_geometry(how, scope, launch);
    launch.params = pack_arguments(spec.arguments, call.operands, scope);
    return launch;
  }

  Config reference_config() const { return std::get<ReferenceConfiguration>(spec.reference).config.value_or(usual); }

  T1File file;
  KernelSpec spec;
  Space space;
  Config usual;
  std::string name;
  std::string canonical, text, reference_text;
  Scope sizes;
  Problem problem;
};

SpecOperator::SpecOperator(const std::filesystem::path& file) : parts_(std::make_unique<const Parts>(file)) {}
SpecOperator::~SpecOperator() = default;

const T1File& SpecOperator::file() const { return parts_->file; }
const KernelSpec& SpecOperator::spec() const { return parts_->spec; }
Problem SpecOperator::problem() const { return parts_->problem; }
std::string_view SpecOperator::name() const { return parts_->name; }
std::vector<DType> SpecOperator::dtypes() const { return {first_output(parts_->spec)}; }

void SpecOperator::check(const Problem& problem) const {
  if (problem != parts_->problem) {
    fail(ErrorKind::usage, "{} describes {}, not {}", parts_->file.path.string(), parts_->problem.key(), problem.key());
  }
}

std::vector<OperandSpec> SpecOperator::operands(const Problem&) const {
  std::vector<OperandSpec> specs;
  for (const KernelArgument& argument : parts_->spec.arguments) {
    if (argument.vector)
      specs.push_back(
          {argument.name, argument.role, argument.type.dtype, 1, 1, argument.elements * argument.type.components});
  }
  return specs;
}

Space SpecOperator::space(const Problem&, const DeviceLimits&) const { return parts_->space; }
Config SpecOperator::default_config(const Problem&, const DeviceLimits&) const { return parts_->usual; }

std::vector<SourceText> SpecOperator::sources() const {
  std::vector<SourceText> sources = {{"specification", parts_->canonical},
                                     {"kernel", kernel_unit({}, parts_->text)},
                                     {"reference", parts_->reference_text}};
  const auto add_file = [&sources](const std::filesystem::path& path) { sources.push_back({"data", read_file(path)}); };
  for (const KernelArgument& argument : parts_->spec.arguments) {
    if (const auto* data = std::get_if<FileFill>(&argument.fill)) add_file(data->path);
  }
  if (const auto* files = std::get_if<ReferenceFiles>(&parts_->spec.reference)) {
    for (const auto& [name, path] : files->outputs) add_file(path);
  }
  return sources;
}

std::string SpecOperator::source(const Problem&, const Config& config) const {
  return kernel_unit(parts_->values(config), parts_->text);
}

std::vector<std::string> SpecOperator::compile_options() const { return parts_->spec.compile_options; }

std::vector<Launch> SpecOperator::launches(const Config& config, const Call& call) const {
  return {parts_->launch(parts_->spec.kernel, parts_->spec.launch,
                         config_scope(parts_->file, parts_->spec.problem_size, config), call)};
}

bool SpecOperator::has_reference_kernel() const {
  return !std::holds_alternative<ReferenceFiles>(parts_->spec.reference);
}

std::string SpecOperator::reference_source() const {
  const auto* kernel = std::get_if<ReferenceKernel>(&parts_->spec.reference);
  if (kernel == nullptr) return source(parts_->problem, parts_->reference_config());
  return kernel_unit({kernel->parameters.begin(), kernel->parameters.end()}, parts_->reference_text);
}

Launch SpecOperator::given_reference_launch(const Call& call) const {
  const auto* kernel = std::get_if<ReferenceKernel>(&parts_->spec.reference);
  if (kernel == nullptr) return launches(parts_->reference_config(), call).front();
  return parts_->launch(kernel->name, kernel->launch, reference_scope(*kernel), call);
}

std::string SpecOperator::reference_description() const {
  if (const auto* kernel = std::get_if<ReferenceKernel>(&parts_->spec.reference))
    return fmt::format("the kernel '{}' of {}", kernel->name, kernel->file.filename().string());
  if (!has_reference_kernel()) return "the files of Reference.Outputs";
  return fmt::format("'{}' with {}", parts_->spec.kernel, db::to_text(parts_->reference_config()));
}

void SpecOperator::fill(const Problem&, std::mt19937_64& random, std::span<HostTensor> tensors) const {
  std::size_t next = 0;
  for (const KernelArgument& argument : parts_->spec.arguments) {
    if (!argument.vector) continue;
    HostTensor& tensor = tensors[next++];
    if (argument.role != Role::output) fill_argument(argument, parts_->sizes, random, tensor);
  }
}

void SpecOperator::reference(const Problem&, const Scalars&, std::span<HostTensor> tensors) const {
  const auto* files = std::get_if<ReferenceFiles>(&parts_->spec.reference);
  if (files == nullptr) return;
  std::size_t next = 0;
  for (const KernelArgument& argument : parts_->spec.arguments) {
    if (!argument.vector) continue;
    HostTensor& tensor = tensors[next++];
    if (argument.compared) read_elements(files->outputs.at(argument.name), argument, tensor);
  }
}

Tolerance SpecOperator::tolerance(const Problem&) const {
  for (const KernelArgument& argument : parts_->spec.arguments) {
    if (argument.compared) return argument.tolerance;
  }
  return {};
}

Comparison SpecOperator::compare(const Problem&, std::span<const HostTensor> got,
                                 std::span<const HostTensor> expected) const {
  Comparison result;
  std::size_t next = 0;
  for (const KernelArgument& argument : parts_->spec.arguments) {
    if (!argument.vector) continue;
    const std::size_t i = next++;
    if (argument.compared && !compare_output(argument, got[i], expected[i], result)) break;
  }
  return result;
}

ComparedOperand SpecOperator::compared(const Problem&, std::size_t index) const {
  std::size_t next = 0;
  for (const KernelArgument& argument : parts_->spec.arguments) {
    if (!argument.vector || next++ != index) continue;
    return {argument.compared ? Compared::elements : Compared::not_at_all, argument.tolerance};
  }
  fail(ErrorKind::internal, "the kernel has no operand {}", index);
}

Cost SpecOperator::cost(const Problem&) const { return parts_->spec.cost.value_or(Cost{}); }

}  // namespace wavetune::templates
