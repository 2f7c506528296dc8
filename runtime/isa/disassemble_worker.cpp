// The child's end: loads comgr and takes one kernel apart.
#include <dlfcn.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "db/base/error.h"
#include "runtime/isa/disassembler.h"
#include "runtime/jit/packed_message.h"
#include "runtime/process/message_channel.h"

namespace wavetune::isa {
namespace {

// The part of amd_comgr.h that is used here (interface version 2 and later; its ABI is kept between them). Declared
// rather than included, since a machine may have the library without its headers.
using Status = int;
constexpr Status success = 0;
struct DisassemblyInfo {
  std::uint64_t handle = 0;
};
using ReadMemory = std::uint64_t (*)(std::uint64_t from, char* to, std::uint64_t size, void* user);
using PrintInstruction = void (*)(const char* text, void* user);
using PrintAddress = void (*)(std::uint64_t address, void* user);

struct Comgr {
  Status (*create)(const char* isa, ReadMemory, PrintInstruction, PrintAddress, DisassemblyInfo*) = nullptr;
  Status (*destroy)(DisassemblyInfo) = nullptr;
  Status (*disassemble)(DisassemblyInfo, std::uint64_t address, void* user, std::uint64_t* size) = nullptr;
};

constexpr int oldest_major = 2;
constexpr int newest_major = 20;  // a bound for the search, not for what works

Comgr load_comgr(const std::filesystem::path& folder) {
  void* library = nullptr;
  std::string reason;
  for (const bool beside : {true, false}) {
    for (int major = newest_major; major >= oldest_major && library == nullptr; --major) {
      const std::string name = fmt::format("libamd_comgr.so.{}", major);
      const std::filesystem::path path = beside ? folder / name : std::filesystem::path(name);
      if (beside && !std::filesystem::exists(path)) continue;
      library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library == nullptr && beside) reason = dlerror();
    }
  }
  if (library == nullptr) {
    fail(ErrorKind::not_found, "cannot load libamd_comgr.so (2 or newer) of {}: {}", folder.string(),
         reason.empty() ? "it is not there" : reason);
  }
  Comgr comgr;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr) fail(ErrorKind::not_found, "libamd_comgr.so of {} has no {}", folder.string(), name);
  };
  find(comgr.create, "amd_comgr_create_disassembly_info");
  find(comgr.destroy, "amd_comgr_destroy_disassembly_info");
  find(comgr.disassemble, "amd_comgr_disassemble_instruction");
  return comgr;
}

/// What the callbacks see.
struct Session {
  std::uint64_t address = 0;  ///< of code[0]
  std::span<const std::byte> code;
  std::string text;
};

std::uint64_t read_memory(std::uint64_t from, char* to, std::uint64_t size, void* user) {
  const auto& session = *static_cast<const Session*>(user);
  if (from < session.address || from - session.address >= session.code.size()) return 0;
  const std::uint64_t offset = from - session.address;
  const std::uint64_t count = std::min<std::uint64_t>(size, session.code.size() - offset);
  std::memcpy(to, session.code.data() + offset, count);
  return count;
}

void print_instruction(const char* text, void* user) { static_cast<Session*>(user)->text = text; }
void print_address(std::uint64_t, void*) {}  // targets are worked out from the operand

nlohmann::json take_apart(const nlohmann::json& request, std::span<const std::byte> code) {
  const Comgr comgr = load_comgr(request.at("folder").get<std::string>());
  const auto target = request.at("target").get<std::string>();
  DisassemblyInfo info;
  if (comgr.create(target.c_str(), read_memory, print_instruction, print_address, &info) != success)
    fail(ErrorKind::bad_data, "this comgr cannot disassemble for '{}'", target);
  Session session{request.at("address").get<std::uint64_t>(), code, ""};
  nlohmann::json lines = nlohmann::json::array();
  for (std::uint64_t offset = 0; offset < code.size();) {
    std::uint64_t size = 0;
    session.text.clear();
    const Status status = comgr.disassemble(info, session.address + offset, &session, &size);
    if (status != success || size == 0)
      fail(ErrorKind::bad_data, "no instruction at offset {} of {}", offset, code.size());
    lines.push_back({size, session.text});
    offset += size;
  }
  (void)comgr.destroy(info);
  return {{"instructions", std::move(lines)}};
}

}  // namespace

int disassemble_worker_main() {
  process::MessageChannel channel(STDIN_FILENO, process::take_standard_output());
  std::string message;
  if (channel.receive(message) != process::ReadOutcome::message) return 1;
  nlohmann::json answer;
  try {
    std::span<const std::byte> code;
    const nlohmann::json request = jit::unpack_message(message, code);
    answer = take_apart(request, code);
  } catch (const Error& error) {
    answer = {{"error", error.what()}, {"missing", error.kind() == ErrorKind::not_found}};
  } catch (const std::exception& error) {
    answer = {{"error", error.what()}};
  }
  return channel.send(jit::pack_message(answer)) ? 0 : 1;
}

}  // namespace wavetune::isa
