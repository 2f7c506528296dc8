// The child's end of the compile protocol: `wavetune __compile-worker`.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "runtime/hip/amd/hiprtc_library.h"
#include "runtime/hip/cuda/nvrtc.h"
#include "runtime/hip/provider.h"
#include "runtime/jit/code_object.h"
#include "runtime/jit/compile_service.h"
#include "runtime/jit/compile_worker.h"
#include "runtime/jit/packed_message.h"
#include "runtime/jit/ptxas_report.h"
#include "runtime/jit/resources_json.h"
#include "runtime/jit/rtc_program.h"
#include "runtime/process/message_channel.h"
#include "runtime/process/subprocess.h"

namespace wavetune::jit {
namespace {

/// What compilers print instead of saying it through their interface ("LLVM ERROR: out of memory") goes into the
/// request's folder: the parent reads it when this process dies.
void collect_output(const std::filesystem::path& temporary) {
  const process::Fd file(
      open((temporary / worker_output_file).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file) return;
  dup2(file.get(), STDOUT_FILENO);
  dup2(file.get(), STDERR_FILENO);
}

/// The death of the parent must reach the compiler's own processes (cc1plus) too, whose group this process leads.
void end_group(int) {
  if (getpgrp() == getpid()) kill(0, SIGKILL);
  _exit(1);
}

class Compilers {
 public:
  const hip::Api& get(const nlohmann::json& request) {
    const std::string library = request.at("library").get<std::string>();
    const std::string device = request.at("device").get<std::string>();
    if (!library.empty()) {
      auto entry = libraries_.find(library);
      if (entry == libraries_.end()) {
        const bool nvidia = device == hip::to_string(hip::ProviderKind::cuda);
        entry =
            libraries_.emplace(library, nvidia ? hip::cuda::load_nvrtc(library) : hip::amd::load_hiprtc(library)).first;
      }
      return entry->second;
    }
    auto& provider = providers_[device];
    if (!provider) provider = hip::load_provider(hip::parse_device_spec(device));
    return provider->api();
  }

 private:
  std::map<std::string, hip::Api> libraries_;
  std::map<std::string, std::shared_ptr<const hip::Provider>> providers_;
};

std::string serve_one(const nlohmann::json& request, Compilers& compilers) {
  // Everything that the compiler writes goes into the folder that the parent removes, also when this process dies.
  const std::string temporary = request.at("temporary").get<std::string>();
  ::setenv("TMPDIR", temporary.c_str(), 1);
  collect_output(temporary);
  const hip::Api& api = compilers.get(request);
  const auto start = std::chrono::steady_clock::now();
  RtcResult result = compile_program(api, request.at("source").get<std::string>(),
                                     request.at("options").get<std::vector<std::string>>());
  const double milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  db::Resources resources = resources_of_code_object(result.code);
  take_ptxas_report(result.log, resources);
  return pack_message({{"outcome", db::to_string(result.outcome)},
                       {"log", result.log},
                       {"milliseconds", milliseconds},
                       {"resources", resources_to_json(resources)}},
                      result.code);
}

}  // namespace

int compile_worker_main() {
  signal(SIGTERM, end_group);
  process::MessageChannel channel(STDIN_FILENO, process::take_standard_output());
  Compilers compilers;
  std::string message;
  while (channel.receive(message) == process::ReadOutcome::message) {
    std::string answer;
    try {
      std::span<const std::byte> payload;
      answer = serve_one(unpack_message(message, payload), compilers);
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
