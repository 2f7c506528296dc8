// Machine code to instructions, through the comgr library that comes with every hipRTC.
//
// comgr (with the LLVM in it) is loaded in a process of its own, which is started like a compile worker: where ROCm is
// a private copy, its libraries load only under that copy's loader.
#pragma once

#include <filesystem>
#include <vector>

#include "runtime/isa/code_object.h"
#include "runtime/isa/instruction.h"

namespace wavetune::isa {

/// The instructions of a kernel in address order. `worker_executable` empty: this executable, started as
/// `wavetune __disassemble-worker`. Throws Error not_found when there is no ROCm (saying what to do), bad_data for code
/// that the disassembler cannot read, io when the process cannot be started or dies.
std::vector<Instruction> disassemble(const CodeObject& object, const KernelCode& kernel,
                                     const std::filesystem::path& worker_executable = {});

/// Entry point of `wavetune __disassemble-worker`: one request on stdin, one answer on stdout.
int disassemble_worker_main();

}  // namespace wavetune::isa
