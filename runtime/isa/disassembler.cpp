#include "runtime/isa/disassembler.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "db/base/error.h"
#include "runtime/jit/packed_message.h"
#include "runtime/jit/worker_setup.h"
#include "runtime/process/message_channel.h"
#include "runtime/process/subprocess.h"

namespace wavetune::isa {
namespace {

// A kernel of 10^5 instructions takes well under a second; the rest is loading the library on a busy machine.
constexpr std::chrono::milliseconds patience{60'000};

}  // namespace

std::vector<Instruction> disassemble(const CodeObject& object, const KernelCode& kernel,
                                     const std::filesystem::path& worker_executable) {
  const jit::WorkerSetup setup = jit::worker_setup("hip");
  process::SubprocessOptions options;
  options.arguments = setup.command(worker_executable);
  options.arguments.back() = "__disassemble-worker";
  if (!setup.loader.empty()) options.unset_environment = {"LD_PRELOAD"};
  options.standard_error = process::Stdio::null;
  process::Subprocess child(options);
  process::MessageChannel channel(child.output(), child.input());
  const nlohmann::json request = {{"folder", std::filesystem::path(setup.library).parent_path().string()},
                                  {"target", object.target},
                                  {"address", kernel.address}};
  std::string answer;
  const bool sent = channel.send(jit::pack_message(request, kernel.code));
  if (!sent || channel.receive(answer, patience) != process::ReadOutcome::message) {
    child.kill(9);
    fail(ErrorKind::io, "the disassembler of kernel '{}' gave no answer: {}", kernel.name, child.wait().describe());
  }
  std::span<const std::byte> nothing;
  const nlohmann::json reply = jit::unpack_message(answer, nothing);
  if (const auto error = reply.find("error"); error != reply.end()) {
    fail(reply.value("missing", false) ? ErrorKind::not_found : ErrorKind::bad_data, "kernel '{}' of {}: {}",
         kernel.name, object.arch, error->get<std::string>());
  }
  std::vector<Instruction> instructions;
  std::uint64_t address = kernel.address;
  for (const nlohmann::json& line : reply.at("instructions")) {
    const int size = line.at(0).get<int>();
    instructions.push_back(parse_instruction(address, size, line.at(1).get_ref<const std::string&>()));
    address += static_cast<std::uint64_t>(size);
  }
  return instructions;
}

}  // namespace wavetune::isa
