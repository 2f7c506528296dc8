#include "runtime/hip/cpu/compiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <string_view>

#include "db/base/error.h"
#include "db/base/file.h"
#include "runtime/hip/cpu/code_object.h"
#include "runtime/hip/cpu/rewrite.h"
#include "runtime/hip/cpu/sanitizer.h"
#include "runtime/process/subprocess.h"

namespace wavetune::hip::cpu {
namespace {

// A compiler that is left behind by a killed worker ends by itself.
constexpr std::chrono::seconds compiler_cpu_limit{300};

process::SubprocessOptions compiler_process(std::vector<std::string> arguments) {
  process::SubprocessOptions options;
  options.arguments = std::move(arguments);
  options.error_to_output = true;
  options.own_group = false;  // who kills the compile worker's group reaches the compiler
  options.cpu_limit = compiler_cpu_limit;
  // The compiler itself must not run under the sanitizer that its output is made for.
  options.unset_environment = {"LD_PRELOAD"};
  options.environment = {{"LC_ALL", "C"}};
  return options;
}

std::optional<Compiler> look(const std::string& path) {
  try {
    const process::CaptureResult result = process::run_and_capture(compiler_process({path, "--version"}));
    if (!result.status.ok()) return std::nullopt;
    const std::string line = result.output.substr(0, result.output.find('\n'));
    Compiler found{path, line.find("clang") != std::string::npos ? "clang++" : "g++", ""};
    const size_t digit = line.find_last_of(' ');
    const size_t clang = line.find("version ");
    found.version = clang != std::string::npos ? line.substr(clang + 8) : line.substr(digit + 1);
    return found;
  } catch (const Error&) {
    return std::nullopt;  // not installed
  }
}

std::optional<Compiler> find_compiler() {
  if (const char* chosen = std::getenv("WAVETUNE_CPU_CXX"); chosen != nullptr && *chosen != '\0') return look(chosen);
  for (const char* name : {"g++", "clang++"}) {
    if (std::optional<Compiler> found = look(name)) return found;
  }
  return std::nullopt;
}

/// The instruction set that the code object's header names, so that it runs wherever it is loaded.
std::string machine_option() {
  const std::string& arch = cpu_arch();
  return arch.starts_with("cpu-x86-64") ? "-march=" + arch.substr(4) : "-march=native";
}

/// Moves what of `options` the compiler takes into `arguments`; the reason when one cannot be taken.
std::optional<std::string> take_options(const std::vector<std::string>& options, std::vector<std::string>& arguments) {
  constexpr std::string_view arch_option = "--offload-arch=";
  constexpr std::array passed_on = {"-D", "-U", "-I", "-O", "-std=", "-W", "-g", "-f"};
  for (const std::string& option : options) {
    bool taken = false;
    for (const std::string_view prefix : passed_on) taken = taken || option.starts_with(prefix);
    if (option.starts_with(arch_option)) {
      if (option.substr(arch_option.size()) != cpu_arch()) {
        return fmt::format("error: {}: this CPU is {}", option, cpu_arch());
      }
    } else if (taken) {
      arguments.push_back(option);
    } else {
      return fmt::format("error: unknown option '{}'", option);
    }
  }
  return std::nullopt;
}

/// The compiler's text names the source as it was given to hiprtcCreateProgram.
std::string without_path(std::string log, const std::string& path, const std::string& name) {
  for (size_t at = log.find(path); at != std::string::npos; at = log.find(path, at + name.size())) {
    log.replace(at, path.size(), name);
  }
  return log;
}

}  // namespace

const std::optional<Compiler>& system_compiler() {
  static const std::optional<Compiler> found = find_compiler();
  return found;
}

Compiled compile(const std::string& source, const std::string& name, const std::vector<std::string>& options) {
  const std::optional<Compiler>& compiler = system_compiler();
  if (!compiler) return {false, "error: no C++ compiler found; install g++ or set WAVETUNE_CPU_CXX", ""};
  const bool sanitize =
      sanitize_kernels() || std::find(options.begin(), options.end(), sanitize_option) != options.end();
  const Rewritten rewritten = rewrite_for_cpu(source);
  if (rewritten.kernels.empty()) return {false, "error: the source has no __global__ function", ""};

  const process::TemporaryDirectory folder("wavetune-cc");
  const std::string source_path = (folder.path() / "kernel.cpp").string();
  const std::string object_path = (folder.path() / "kernel.so").string();
  write_file_atomic(source_path, rewritten.text);

  // No standard library: kernels need memcpy and libm, which the process has.
  std::vector<std::string> arguments = {compiler->path,
                                        "-std=c++20",
                                        "-O3",
                                        machine_option(),
                                        "-fPIC",
                                        "-shared",
                                        "-nostdlib",
                                        "-pipe",
                                        "-ffp-contract=fast",
                                        "-fno-math-errno",
                                        "-fno-trapping-math",
                                        "-fno-exceptions",
                                        "-fno-rtti",
                                        "-fvisibility=hidden",
                                        "-fdiagnostics-color=never",
                                        "-mtune=native"};
  if (compiler->name == "g++") {
    // -fwhole-program: nothing but the table is visible, so that what was inlined is not compiled a second time.
    arguments.insert(arguments.end(),
                     {"-fwhole-program", "-fno-gnu-unique", "-Wno-attributes", "-Wno-unknown-pragmas"});
  } else {
    arguments.insert(arguments.end(), {"-Wno-unknown-attributes", "-Wno-unknown-pragmas"});
  }
  if (sanitize) arguments.insert(arguments.end(), {std::string(sanitize_option), "-g1", "-fno-omit-frame-pointer"});
  if (const auto reason = take_options(options, arguments)) return {false, *reason, ""};
  arguments.insert(arguments.end(), {source_path, "-o", object_path, "-lm"});

  const process::CaptureResult result = process::run_and_capture(compiler_process(std::move(arguments)));
  Compiled compiled;
  compiled.log = without_path(result.output, source_path, name);
  if (!result.status.ok()) {
    if (result.status.signal != 0)
      compiled.log += fmt::format("error: the compiler ended with {}\n", result.status.describe());
    return compiled;
  }
  compiled.code = pack_code_object(read_file(object_path), sanitize);
  compiled.ok = true;
  return compiled;
}

}  // namespace wavetune::hip::cpu
