// Turns HIP source into C++ that the system's compiler takes: the two things that templates/prelude/cpu.hip cannot do
// with macros are where __shared__ variables live and how kernels are found and called.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wavetune::hip::cpu {

struct Rewritten {
  std::string text;                  ///< same lines as the source, kernel table appended
  std::vector<std::string> kernels;  ///< names of the __global__ functions found, templates left out
};

/// `__shared__ T x[N];` in a function becomes a reference into the running block's LDS, `extern __shared__ T x[];` a
/// pointer to its dynamic LDS, and a table with an entry for each __global__ function is appended. Line numbers stay.
/// Static __shared__ variables outside of functions are turned into an #error.
Rewritten rewrite_for_cpu(std::string_view source);

}  // namespace wavetune::hip::cpu
