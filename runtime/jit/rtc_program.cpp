#include "runtime/jit/rtc_program.h"

#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "db/base/error.h"

namespace wavetune::jit {
namespace {

constexpr std::string_view arch_option = "--offload-arch=";

class Program {
 public:
  Program(const hip::Api& api, const std::string& source) : api_(api) {
    const hiprtcResult code = api_.hiprtcCreateProgram(&program_, source.c_str(), "kernel.hip", 0, nullptr, nullptr);
    if (code != HIPRTC_SUCCESS) fail(ErrorKind::device, "hiprtcCreateProgram: {}", api_.hiprtcGetErrorString(code));
  }
  ~Program() { (void)api_.hiprtcDestroyProgram(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  hiprtcResult compile(const std::vector<std::string>& options) {
    std::vector<const char*> pointers;
    for (const std::string& option : options) pointers.push_back(option.c_str());
    return api_.hiprtcCompileProgram(program_, static_cast<int>(pointers.size()), pointers.data());
  }
  std::string log() const {
    std::size_t size = 0;
    if (api_.hiprtcGetProgramLogSize(program_, &size) != HIPRTC_SUCCESS || size == 0) return "";
    std::string text(size, '\0');
    if (api_.hiprtcGetProgramLog(program_, text.data()) != HIPRTC_SUCCESS) return "";
    text.resize(text.find('\0') == std::string::npos ? text.size() : text.find('\0'));
    return text;
  }
  std::vector<std::byte> code() const {
    std::size_t size = 0;
    if (api_.hiprtcGetCodeSize(program_, &size) != HIPRTC_SUCCESS) return {};
    std::vector<std::byte> bytes(size);
    if (api_.hiprtcGetCode(program_, reinterpret_cast<char*>(bytes.data())) != HIPRTC_SUCCESS) return {};
    return bytes;
  }

 private:
  const hip::Api& api_;
  hiprtcProgram program_ = nullptr;
};

std::vector<std::string> architectures(const std::vector<std::string>& options) {
  std::vector<std::string> found;
  for (const std::string& option : options) {
    if (option.starts_with(arch_option)) found.push_back(option.substr(arch_option.size()));
  }
  return found;
}

/// A line that begins with "error:" is the driver's own; a diagnostic of the source has its place in front.
bool has_driver_error(std::string_view log) {
  return log.starts_with("error: ") || log.find("\nerror: ") != std::string_view::npos;
}

/// Why nothing can be written where the compiler puts its files; empty when it can.
std::string temporary_problem() {
  const char* folder = std::getenv("TMPDIR");
  std::string probe = std::string(folder != nullptr && *folder != '\0' ? folder : "/tmp") + "/probe-XXXXXX";
  const int fd = mkstemp(probe.data());
  if (fd < 0) return fmt::format("its temporary folder cannot be written to ({}: {})", probe, std::strerror(errno));
  close(fd);
  unlink(probe.c_str());
  return "";
}

/// hipRTC answers some mistakes with nothing but a code.
std::string explain_silence(const char* error, const std::vector<std::string>& options) {
  std::string reason = temporary_problem();
  if (reason.empty()) {
    const std::vector<std::string> arch = architectures(options);
    reason = arch.empty() ? "no --offload-arch option names an architecture"
                          : fmt::format("most likely it does not know the architecture '{}'", arch.front());
  }
  return fmt::format("{}, and the compiler gives no reason; {}", error, reason);
}

}  // namespace

RtcResult compile_program(const hip::Api& api, const std::string& source, const std::vector<std::string>& options) {
  RtcResult result;
  // hipRTC reports success for these and gives the code of one of them.
  if (const std::vector<std::string> arch = architectures(options); arch.size() > 1) {
    result.outcome = db::Outcome::compile_error;
    result.log = fmt::format("error: {} --offload-arch options ({}); a code object is for one architecture",
                             arch.size(), fmt::join(arch, ", "));
    return result;
  }
  Program program(api, source);
  const hiprtcResult code = program.compile(options);
  result.log = program.log();
  if (code == HIPRTC_SUCCESS && !has_driver_error(result.log)) result.code = program.code();
  if (!result.code.empty()) return result;
  result.outcome = db::Outcome::compile_error;
  if (result.log.empty()) {
    result.log = code == HIPRTC_SUCCESS ? "the compiler reports success, but gives no code object"
                                        : explain_silence(api.hiprtcGetErrorString(code), options);
  }
  return result;
}

}  // namespace wavetune::jit
