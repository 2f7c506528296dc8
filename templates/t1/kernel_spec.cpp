#include "templates/t1/kernel_spec.h"

#include <algorithm>
#include <array>
#include <utility>

#include "db/base/error.h"

namespace wavetune::templates {
namespace {

using db::JsonReader;

std::vector<std::string> names_of(const T1File& file) {
  std::vector<std::string> names;
  for (const T1Parameter& parameter : file.parameters) names.push_back(parameter.name);
  return names;
}

/// A number, or a list of numbers.
std::vector<std::int64_t> read_problem_size(const JsonReader& specification) {
  const auto place = specification.find("ProblemSize");
  if (!place) return {};
  const std::vector<JsonReader> list = place->json().is_array() ? place->elements() : std::vector<JsonReader>{*place};
  if (list.empty() || list.size() > 3) place->fail_here("must be a number or a list of one to three");
  std::vector<std::int64_t> sizes;
  for (const JsonReader& element : list) {
    // Some files have the numbers in strings.
    const std::int64_t size =
        element.json().is_string() ? Expression::parse(element.text(), element.path()).integer({}) : element.integer();
    if (size < 1) element.fail_here("must be at least 1");
    sizes.push_back(size);
  }
  return sizes;
}

/// What hipRTC and the CPU's compiler both take.
void read_option(const JsonReader& place, SpecReader& reader, std::vector<std::string>& options) {
  constexpr std::array passed_on = {"-D", "-U", "-I", "-O", "-f", "-W", "-g"};
  const std::string option = place.text();
  if (option == "--use_fast_math" || option == "-use_fast_math") {
    options.emplace_back("-ffast-math");
  } else if (option.starts_with("-std=") || option.starts_with("--std=")) {
    if (!option.ends_with("++20"))
      reader.note(fmt::format("{}: '{}' is not passed on: kernels are compiled as C++20", place.path(), option));
  } else if (std::any_of(passed_on.begin(), passed_on.end(),
                         [&option](const char* prefix) { return option.starts_with(prefix); })) {
    options.push_back(option);
  } else {
    place.fail_here(fmt::format("'{}' is not taken; there are -D, -U, -I, -O, -f, -W, -g and --use_fast_math", option));
  }
}

std::vector<std::string> read_options(const JsonReader& specification, SpecReader& reader,
                                      const std::filesystem::path& folder) {
  std::vector<std::string> options;
  const auto list = specification.find("CompilerOptions");
  if (!list) return options;
  for (const JsonReader& option : list->elements()) read_option(option, reader, options);
  for (std::string& option : options) {
    if (option.starts_with("-I") && option.size() > 2)
      option = "-I" + std::filesystem::absolute(folder / option.substr(2)).lexically_normal().string();
  }
  return options;
}

Value value_of(const JsonReader& place) {
  const nlohmann::json& value = place.json();
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return place.integer();
  if (value.is_number()) return place.number();
  if (value.is_string()) return value.get<std::string>();
  place.fail_here("must be a number, a string, true or false");
}

ReferenceConfiguration read_reference_configuration(const JsonReader& place, const T1File& file) {
  Config config;
  for (const auto& [name, member] : place.members()) {
    const auto parameter = std::find_if(file.parameters.begin(), file.parameters.end(),
                                        [&wanted = name](const T1Parameter& each) { return each.name == wanted; });
    if (parameter == file.parameters.end()) member.fail_here("there is no such tuning parameter");
    const auto value = space_value(*parameter, value_of(member));
    if (!value) member.fail_here(fmt::format("{} is none of its values", member.json().dump()));
    config[name] = *value;
  }
  for (const T1Parameter& parameter : file.parameters) {
    if (!config.contains(parameter.name)) place.fail_here(fmt::format("parameter '{}' is missing", parameter.name));
  }
  if (const auto violation = space_of(file).violation(config))
    place.fail_here(fmt::format("the configuration is not valid: {}", *violation));
  return {config};
}

ReferenceKernel read_reference_kernel(const JsonReader& place, const KernelSpec& spec, SpecReader& reader,
                                      const std::filesystem::path& folder) {
  const auto file = place.find("KernelFile");
  std::map<std::string, Value> parameters;
  std::vector<std::string> names;
  if (const auto list = place.find("Parameters")) {
    for (const auto& [name, member] : list->members()) {
      parameters.emplace(name, value_of(member));
      names.push_back(name);
    }
  }
  // It has parameters of its own: the tuning parameters have no values when it is launched.
  SpecReader own(names);
  ReferenceKernel kernel{file ? folder / file->text() : spec.file, place.at("KernelName").text(), std::move(parameters),
                         read_launch(place, own, spec.problem_size)};
  for (const std::string& note : own.notes()) reader.note(note);
  return kernel;
}

ReferenceFiles read_reference_files(const JsonReader& place, const KernelSpec& spec,
                                    const std::filesystem::path& folder) {
  ReferenceFiles files;
  for (const auto& [name, member] : place.members()) {
    const auto argument = std::find_if(spec.arguments.begin(), spec.arguments.end(),
                                       [&wanted = name](const KernelArgument& each) { return each.name == wanted; });
    if (argument == spec.arguments.end() || !argument->compared) member.fail_here("there is no such output argument");
    files.outputs[name] = folder / member.text();
  }
  for (const KernelArgument& argument : spec.arguments) {
    if (argument.compared && !files.outputs.contains(argument.name))
      place.fail_here(fmt::format("the output '{}' has no file", argument.name));
  }
  return files;
}

KernelReference read_reference(const JsonReader& specification, const KernelSpec& spec, SpecReader& reader,
                               const T1File& file, const std::filesystem::path& folder) {
  const auto place = specification.find("Reference");
  if (!place) return ReferenceConfiguration{};
  reader.note_unknown(*place, {"Configuration", "Outputs", "KernelFile", "KernelName", "Parameters", "LocalSize",
                               "GlobalSize", "GlobalSizeType", "GridDivX", "GridDivY", "GridDivZ", "SharedMemory"});
  const auto configuration = place->find("Configuration");
  const auto outputs = place->find("Outputs");
  const auto kernel = place->find("KernelName");
  const int given = (configuration ? 1 : 0) + (outputs ? 1 : 0) + (kernel ? 1 : 0);
  if (given != 1) place->fail_here("must have one of 'Configuration', 'KernelName' and 'Outputs'");
  if (configuration) return read_reference_configuration(*configuration, file);
  if (outputs) return read_reference_files(*outputs, spec, folder);
  return read_reference_kernel(*place, spec, reader, folder);
}

/// Bytes of all arguments, those that are read and written twice.
double bytes_once(const std::vector<KernelArgument>& arguments) {
  double bytes = 0;
  for (const KernelArgument& argument : arguments) {
    if (!argument.vector) continue;
    const double size = static_cast<double>(argument.elements) * static_cast<double>(argument.type.bytes());
    bytes += argument.role == Role::inout ? 2 * size : size;
  }
  return bytes;
}

std::optional<Cost> read_cost(const JsonReader& specification, const KernelSpec& spec, SpecReader& reader,
                              const Scope& sizes) {
  const auto place = specification.find("Cost");
  if (!place) return std::nullopt;
  Cost cost{bytes_once(spec.arguments), 0};
  if (const auto bytes = place->find("Bytes")) cost.bytes = reader.expression(*bytes).number(sizes);
  if (const auto flops = place->find("Flops")) cost.flops = reader.expression(*flops).number(sizes);
  if (!(cost.bytes >= 0 && cost.flops >= 0)) place->fail_here("must not be negative");
  reader.note_unknown(*place, {"Bytes", "Flops"});
  return cost;
}

Value problem_size_value(const std::vector<std::int64_t>& problem_size) {
  Value::List list;
  for (const std::int64_t size : problem_size) list.emplace_back(size);
  return list;
}

}  // namespace

Scope size_scope(const T1File& file, const std::vector<std::int64_t>& problem_size) {
  Scope scope{{"ProblemSize", problem_size_value(problem_size)}};
  for (const T1Parameter& parameter : file.parameters) scope.emplace(parameter.name, Value(parameter.values));
  return scope;
}

Scope config_scope(const T1File& file, const std::vector<std::int64_t>& problem_size, const Config& config) {
  Scope scope{{"ProblemSize", problem_size_value(problem_size)}};
  for (const T1Parameter& parameter : file.parameters)
    scope.emplace(parameter.name, t1_value(parameter, config.at(parameter.name)));
  return scope;
}

Scope reference_scope(const ReferenceKernel& kernel) {
  Scope scope{{"ProblemSize", problem_size_value(kernel.launch.problem_size)}};
  scope.insert(kernel.parameters.begin(), kernel.parameters.end());
  return scope;
}

KernelSpec parse_kernel_spec(const T1File& file) {
  if (file.kernel.is_null()) {
    fail(ErrorKind::not_found,
         "{} has no \"KernelSpecification\": it describes a space only, and there is no kernel to tune",
         file.path.string());
  }
  const JsonReader place(file.kernel, file.path.string() + ": KernelSpecification");
  const std::filesystem::path folder = file.path.parent_path();
  SpecReader reader(names_of(file));
  reader.note_unknown(place, {"Language", "BenchmarkName", "KernelFile", "KernelName", "CompilerOptions", "ProblemSize",
                              "LocalSize", "GlobalSize", "GridDivX", "GlobalSizeType", "GridDivY", "GridDivZ",
                              "SharedMemory", "Stream", "Arguments", "Reference", "Tolerance", "Cost"});
  if (const auto language = place.find("Language")) {
    if (reader.word(*language, {"HIP", "CUDA", "OpenCL", "Vulkan"}) > 1)
      language->fail_here(fmt::format("'{}' kernels cannot be compiled; HIP and CUDA ones can", language->text()));
  }
  std::vector<std::int64_t> problem_size = read_problem_size(place);
  const Scope sizes = size_scope(file, problem_size);
  KernelSpec spec{place.path(),
                  folder / place.at("KernelFile").text(),
                  place.at("KernelName").text(),
                  read_options(place, reader, folder),
                  problem_size,
                  read_launch(place, reader, problem_size),
                  read_arguments(place, reader, sizes, folder),
                  ReferenceConfiguration{},
                  std::nullopt,
                  {}};
  spec.reference = read_reference(place, spec, reader, file, folder);
  spec.cost = read_cost(place, spec, reader, sizes);
  spec.notes = reader.notes();
  return spec;
}

}  // namespace wavetune::templates
