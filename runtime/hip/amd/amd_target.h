// What every compile for an AMD architecture is given, with or without a device at hand.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "templates/operator.h"

namespace wavetune::hip::amd {

/// Options for hiprtcCompileProgram. `arch` without feature suffixes ("gfx950").
std::vector<std::string> compile_options(std::string_view arch);

/// The vocabulary that stands in front of every kernel source (templates/prelude/).
std::string prelude();

/// What kernels may assume of an architecture, for compiles without a device: wave 64; 1024 threads a block; LDS of one
/// CU 160 KiB (gfx950: AMD CDNA4 ISA guide) or 64 KiB (gfx942: CDNA3 ISA guide); 256 CUs (MI355X data sheet) or 304
/// (MI300X data sheet). Throws Error usage, naming the known ones, for any other.
templates::DeviceLimits limits_of_arch(std::string_view arch);

}  // namespace wavetune::hip::amd
