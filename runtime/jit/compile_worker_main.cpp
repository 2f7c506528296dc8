// The child's end of the compile protocol: `wavetune __compile-worker`.
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "db/base/error.h"
#include "runtime/hip/provider.h"
#include "runtime/jit/code_object.h"
#include "runtime/jit/compile_service.h"
#include "runtime/jit/packed_message.h"
#include "runtime/jit/resources_json.h"
#include "runtime/process/message_channel.h"

namespace wavetune::jit {
namespace {

class RtcProgram {
 public:
  RtcProgram(const hip::Api& api, const std::string& source) : api_(api) {
    const hiprtcResult code = api_.hiprtcCreateProgram(&program_, source.c_str(), "kernel.hip", 0, nullptr, nullptr);
    if (code != HIPRTC_SUCCESS) fail(ErrorKind::device, "hiprtcCreateProgram: {}", api_.hiprtcGetErrorString(code));
  }
  ~RtcProgram() { (void)api_.hiprtcDestroyProgram(&program_); }
  RtcProgram(const RtcProgram&) = delete;
  RtcProgram& operator=(const RtcProgram&) = delete;

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

std::string serve_one(const nlohmann::json& request, const hip::Api& api) {
  // Everything that the compiler writes goes into the folder that the parent removes, also when this process dies.
  ::setenv("TMPDIR", request.at("temporary").get<std::string>().c_str(), 1);
  const auto start = std::chrono::steady_clock::now();
  RtcProgram program(api, request.at("source").get<std::string>());
  const hiprtcResult result = program.compile(request.at("options").get<std::vector<std::string>>());
  std::string log = program.log();
  const std::vector<std::byte> code = result == HIPRTC_SUCCESS ? program.code() : std::vector<std::byte>{};
  const bool ok = result == HIPRTC_SUCCESS && !code.empty();
  // hipRTC answers some mistakes (an unknown architecture, an unusable TMPDIR) with an empty log.
  if (!ok && log.empty()) log = fmt::format("{}, and the compiler says nothing more", api.hiprtcGetErrorString(result));
  const double milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return pack_message({{"outcome", db::to_string(ok ? db::Outcome::ok : db::Outcome::compile_error)},
                       {"log", log},
                       {"milliseconds", milliseconds},
                       {"resources", resources_to_json(resources_of_code_object(code))}},
                      code);
}

}  // namespace

int compile_worker_main() {
  process::MessageChannel channel(STDIN_FILENO, process::take_standard_output());
  std::map<std::string, std::shared_ptr<const hip::Provider>> providers;
  std::string message;
  while (channel.receive(message) == process::ReadOutcome::message) {
    std::string answer;
    try {
      std::span<const std::byte> payload;
      const nlohmann::json request = unpack_message(message, payload);
      auto& provider = providers[request.at("device").get<std::string>()];
      if (!provider) provider = hip::load_provider(hip::parse_device_spec(request.at("device").get<std::string>()));
      answer = serve_one(request, provider->api());
    } catch (const std::exception& error) {
      answer = pack_message({{"outcome", db::to_string(db::Outcome::compile_error)},
                             {"log", error.what()},
                             {"milliseconds", 0.0},
                             {"resources", nlohmann::json::object()}});
    }
    if (!channel.send(answer)) break;
  }
  return 0;
}

}  // namespace wavetune::jit
