// What a configuration's machine code says, gathered for reading.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/isa/code_object.h"
#include "runtime/isa/kernel_report.h"
#include "runtime/isa/occupancy.h"
#include "templates/operator.h"

namespace wavetune::search {

/// Shortest times that the chip's rates allow. Microseconds.
struct Bounds {
  double arithmetic_us = 0;  ///< the problem's operations at the rate of the matrix instructions in the loop
  double memory_us = 0;      ///< its bytes at the rate of HBM
  double flops = 0, bytes = 0;
  double flops_per_s = 0, bytes_per_s = 0;
};

struct KernelInspection {
  std::string kernel;
  db::Resources resources;
  std::optional<std::int64_t> blocks;  ///< of the launch; nothing for a foreign code object
  int threads = 0;
  int dynamic_lds_bytes = 0;
  isa::OccupancyResult occupancy;
  bool looked_into = false;  ///< the machine code, that is: `loop` and `instructions` are filled; AMD only
  isa::LoopReport loop;
  std::vector<isa::Instruction> instructions;
};

struct Inspection {
  std::string arch;
  std::string title;          ///< problem key, or the file
  std::string configuration;  ///< empty for a foreign code object
  std::string origin;         ///< where the configuration is from: "default", "winner in FILE"
  std::string compiler;       ///< "hiprtc 7.2"; empty for a foreign code object
  std::vector<KernelInspection> kernels;
  std::optional<Bounds> bounds;
};

/// One kernel of a code object as launched with blocks of `threads` threads. Throws Error incompatible for an
/// architecture that isa does not know, else as isa::disassemble.
KernelInspection inspect_kernel(const isa::CodeObject& object, const isa::KernelCode& kernel, int threads,
                                int dynamic_lds_bytes);

/// Nothing when no loop of `kernels` has matrix instructions or the rates of `arch` are not known.
std::optional<Bounds> bounds_of(const templates::Cost& cost, const std::vector<KernelInspection>& kernels,
                                const std::string& arch);

/// For reading; with `disassembly` every kernel's instructions follow, those of its loop marked with '|'.
std::string inspection_text(const Inspection& inspection, bool disassembly);
nlohmann::ordered_json inspection_json(const Inspection& inspection, bool disassembly);

}  // namespace wavetune::search
