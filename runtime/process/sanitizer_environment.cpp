#include <cstdlib>

#include "db/base/error.h"
#include "runtime/process/subprocess.h"

namespace wavetune::process {
namespace {

bool built_with_sanitizer() {
#if defined(__SANITIZE_ADDRESS__)
  return true;
#else
  return false;
#endif
}

/// What the compiler that builds the kernels links against; it prints the bare name when it has none.
std::filesystem::path find_libasan() {
  const char* chosen = std::getenv("WAVETUNE_CPU_CXX");
  SubprocessOptions options;
  options.arguments = {chosen != nullptr && *chosen != '\0' ? chosen : "g++", "-print-file-name=libasan.so"};
  std::string text = run_and_capture(options).output;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (text.find('/') == std::string::npos) {
    fail(ErrorKind::not_found,
         "the compiler '{}' has no libasan.so; WAVETUNE_CPU_SANITIZE=address needs g++ with its libasan",
         options.arguments[0]);
  }
  return std::filesystem::canonical(text);
}

}  // namespace

std::map<std::string, std::string> sanitizer_environment() {
  std::map<std::string, std::string> environment;
  environment["WAVETUNE_CPU_SANITIZE"] = "address";
  const char* given = std::getenv("ASAN_OPTIONS");
  const std::string given_options = given != nullptr && *given != '\0' ? std::string(given) + ":" : "";
  // Leaks are not what is looked for here, and looking for them needs ptrace.
  environment["ASAN_OPTIONS"] =
      given_options + "detect_leaks=0:abort_on_error=0:exitcode=" + std::to_string(sanitizer_exit_code);
  if (!built_with_sanitizer()) environment["LD_PRELOAD"] = find_libasan().string();
  return environment;
}

}  // namespace wavetune::process
