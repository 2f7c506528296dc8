#include "templates/t1/kernel_text.h"

#include <algorithm>
#include <array>
#include <set>
#include <sstream>

#include "db/base/error.h"
#include "db/base/file.h"
#include "templates/embedded.h"
#include "templates/source_scan.h"

namespace wavetune::templates {
namespace {

using namespace source;

constexpr int deepest_include = 32;

/// Headers that hipRTC has no files for and whose declarations are there anyhow.
bool is_provided(std::string_view header) {
  constexpr std::array exact = {"cuda.h",
                                "cuda_runtime.h",
                                "cuda_runtime_api.h",
                                "device_launch_parameters.h",
                                "cuda_fp16.h",
                                "cuda_bf16.h",
                                "vector_types.h",
                                "math_constants.h",
                                "stdint.h",
                                "cstdint",
                                "stddef.h",
                                "cstddef",
                                "math.h",
                                "cmath",
                                "stdio.h",
                                "cstdio",
                                "float.h",
                                "cfloat",
                                "limits.h",
                                "climits",
                                "assert.h",
                                "cassert",
                                "stdlib.h",
                                "cstdlib"};
  return header.starts_with("hip/") || std::find(exact.begin(), exact.end(), header) != exact.end();
}

struct Include {
  std::string name;
  bool quoted = false;
};

std::optional<Include> include_of(std::string_view line) {
  line = trim(line);
  if (!line.starts_with('#')) return std::nullopt;
  line = trim(line.substr(1));
  if (!line.starts_with("include")) return std::nullopt;
  line = trim(line.substr(7));
  if (line.empty() || (line.front() != '"' && line.front() != '<')) return std::nullopt;
  const bool quoted = line.front() == '"';
  const std::size_t end = line.find(quoted ? '"' : '>', 1);
  if (end == std::string_view::npos) return std::nullopt;
  return Include{std::string(line.substr(1, end - 1)), quoted};
}

bool is_pragma_once(std::string_view line) {
  std::istringstream words{std::string(line)};
  std::string first;
  std::string second;
  words >> first >> second;
  return first == "#pragma" && second == "once";
}

/// Whether a line that begins inside (or outside) a block comment ends inside one.
bool ends_in_comment(std::string_view line, bool inside) {
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    if (!inside && line.substr(i, 2) == "//") return false;
    if (line.substr(i, 2) != (inside ? "*/" : "/*")) continue;
    inside = !inside;
    ++i;
  }
  return inside;
}

class Reader {
 public:
  void add(const std::filesystem::path& file, int depth) {
    if (depth > deepest_include) fail(ErrorKind::bad_data, "{} includes itself without end", file.string());
    const std::string content = read_file(file);
    const std::string name = file.filename().string();
    text_ += fmt::format("#line 1 \"{}\"\n", name);
    std::istringstream lines(content);
    bool comment = false;
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      const std::optional<Include> include = comment ? std::nullopt : include_of(line);
      if (is_pragma_once(line)) {
        if (!once_.insert(std::filesystem::weakly_canonical(file)).second) return;
        line.clear();
      } else if (include) {
        const std::filesystem::path beside = file.parent_path() / include->name;
        if (include->quoted && std::filesystem::exists(beside)) {
          add(beside, depth + 1);
          line = fmt::format("#line {} \"{}\"", number + 1, name);
        } else if (is_provided(include->name)) {
          line.clear();
        }
      }
      comment = ends_in_comment(line, comment);
      text_ += line + "\n";
    }
  }

  std::string text() && { return std::move(text_); }

 private:
  std::string text_;
  std::set<std::filesystem::path> once_;
};

/// One place where a __global__ function is declared or defined.
struct Declaration {
  std::string name;
  std::size_t begin = 0;            ///< of the statement
  std::size_t open = 0, close = 0;  ///< of the parameter list: behind '(', and at ')'
  bool is_template = false;
};

std::vector<Declaration> global_functions(const std::string& code) {
  std::vector<Declaration> found;
  std::size_t statement = 0;
  for (std::size_t i = 0; i < code.size();) {
    const std::string_view word = word_at(code, i);
    if (word.empty()) {
      if (code[i] == ';' || code[i] == '{' || code[i] == '}') statement = i + 1;
      ++i;
      continue;
    }
    i += word.size();
    if (word != "__global__") continue;
    Declaration declaration;
    declaration.begin = skip_space(code, statement);
    declaration.is_template = contains_word(std::string_view(code).substr(statement, i - statement), "template");
    for (std::size_t at = skip_space(code, i); at < code.size();) {
      const std::string_view next = word_at(code, at);
      if (next.empty()) break;
      const std::size_t behind = skip_space(code, at + next.size());
      const bool open = behind < code.size() && code[behind] == '(';
      const bool attribute = next == "__launch_bounds__" || next == "__attribute__" || next == "alignas";
      if (open && !attribute) {
        declaration.name = std::string(next);
        declaration.open = behind + 1;
        declaration.close = after_brackets(code, behind) - 1;
        i = declaration.close;
        found.push_back(declaration);
        break;
      }
      at = open ? skip_space(code, after_brackets(code, behind)) : behind;
    }
  }
  return found;
}

struct Parameter {
  std::string text;
  std::string type;  ///< without const, * and the name; empty: not understood
  bool pointer = false;
};

Parameter parameter_of(std::string_view text) {
  Parameter parameter{std::string(trim(text)), {}, false};
  std::vector<std::string> words;
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view word = word_at(text, i);
    if (word.empty()) {
      if (text[i] == '<' || text[i] == ':' || text[i] == '&')
        return parameter;  // templates and namespaces: not looked into
      if (text[i] == '*' || text[i] == '[') parameter.pointer = true;
      ++i;
      continue;
    }
    constexpr std::array ignored = {"const", "volatile", "__restrict__", "__restrict", "restrict", "__grid_constant__"};
    if (std::find(ignored.begin(), ignored.end(), word) == ignored.end()) words.emplace_back(word);
    i += word.size();
  }
  for (std::size_t i = 0; i + 1 < words.size(); ++i) parameter.type += (i == 0 ? "" : " ") + words[i];
  return parameter;
}

std::vector<Parameter> parameters_of(const std::string& code, const Declaration& kernel) {
  std::vector<Parameter> parameters;
  const std::string_view list = std::string_view(code).substr(kernel.open, kernel.close - kernel.open);
  if (trim(list).empty() || trim(list) == "void") return parameters;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t comma = std::min(find_top_level(list, begin, ","), list.size());
    parameters.push_back(parameter_of(list.substr(begin, comma - begin)));
    begin = comma + 1;
  }
  return parameters;
}

/// Why an argument cannot be what the kernel takes; nothing where that is not certain.
std::optional<std::string> misfit(const KernelArgument& argument, const Parameter& parameter) {
  if (parameter.type.empty()) return std::nullopt;
  const std::optional<KernelType> type = kernel_type(parameter.type);
  if (parameter.pointer != argument.vector && (parameter.pointer || type))
    return fmt::format("is a {}", argument.vector ? "Vector" : "Scalar");
  if (!type) return std::nullopt;
  const bool floats = !is_integer(type->dtype) && !is_integer(argument.type.dtype);
  // Pointers are reinterpreted now and then, though not from one floating type to another.
  const bool wrong = argument.vector ? floats && type->dtype != argument.type.dtype
                                     : is_integer(type->dtype) != is_integer(argument.type.dtype) ||
                                           type->bytes() != argument.type.bytes();
  if (wrong) return fmt::format("is of type {}", argument.type.name);
  return std::nullopt;
}

void check_parameters(const std::string& text, const std::string& code, const Declaration& kernel,
                      std::string_view where, std::span<const KernelArgument> arguments) {
  // With conditional parts there are several lists.
  if (text.substr(kernel.open, kernel.close - kernel.open).find('#') != std::string::npos) return;
  const std::vector<Parameter> parameters = parameters_of(code, kernel);
  if (parameters.size() != arguments.size()) {
    fail(ErrorKind::bad_data, "{}: the kernel '{}' has {} parameters, and Arguments has {}", where, kernel.name,
         parameters.size(), arguments.size());
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (const auto reason = misfit(arguments[i], parameters[i])) {
      fail(ErrorKind::bad_data, "{}.Arguments[{}]: '{}' {}, and the kernel's parameter is '{}'", where, i,
           arguments[i].name, *reason, parameters[i].text);
    }
  }
}

std::string define_text(const Value& value) { return value.is_bool() ? (value.truthy() ? "1" : "0") : value.text(); }

}  // namespace

std::string read_kernel_text(const std::filesystem::path& file) {
  Reader reader;
  reader.add(file, 0);
  return std::move(reader).text();
}

std::string plain_name(std::string_view kernel) {
  const std::size_t colon = kernel.rfind(':');
  return std::string(colon == std::string_view::npos ? kernel : kernel.substr(colon + 1));
}

std::string with_plain_name(const std::string& text, std::string_view kernel, std::string_view where,
                            std::span<const KernelArgument> arguments) {
  const std::string code = code_only(text);
  const std::string name = plain_name(kernel);
  std::string result = text;
  std::string others;
  bool found = false;
  const std::vector<Declaration> declarations = global_functions(code);
  // From the back, so that positions stay.
  for (auto declaration = declarations.rbegin(); declaration != declarations.rend(); ++declaration) {
    if (declaration->name != name) {
      others = declaration->name + (others.empty() ? "" : ", ") + others;
      continue;
    }
    if (declaration->is_template) {
      fail(ErrorKind::bad_data,
           "{}.KernelName: '{}' is a template; add a __global__ function without template parameters that calls what "
           "it does",
           where, kernel);
    }
    // Several declarations are alternatives behind #if, or an earlier announcement.
    if (std::count_if(declarations.begin(), declarations.end(),
                      [&name](const Declaration& each) { return each.name == name; }) == 1)
      check_parameters(text, code, *declaration, where, arguments);
    result.insert(declaration->begin, "extern \"C\" ");
    found = true;
  }
  if (!found) {
    fail(ErrorKind::bad_data, "{}.KernelName: there is no __global__ function '{}'; there are: {}", where, kernel,
         others.empty() ? "none" : others);
  }
  return result;
}

std::string kernel_unit(const std::vector<std::pair<std::string, Value>>& values, const std::string& text) {
  std::string unit(embedded_source("templates/t1/plain.hip"));
  // Kernel Tuner's sign that parameters come from outside.
  unit += "#define kernel_tuner 1\n";
  for (const auto& [name, value] : values) unit += fmt::format("#define {} {}\n", name, define_text(value));
  return unit + text;
}

}  // namespace wavetune::templates
