// A kernel from outside in a measuring process, which is another one than the driver's: how it finds the operator, and
// how the right answer is made.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "runtime/hip/provider.h"
#include "search/measure/prepared_problem.h"
#include "templates/t1/spec_operator.h"

namespace wavetune::measure {

/// What the driver tells a measuring process.
struct ExternalKernel {
  std::filesystem::path spec;             ///< the T1 file, absolute
  std::string source_hash;                ///< of what the driver read
  std::vector<std::byte> reference_code;  ///< SpecOperator::reference_source, compiled; empty: the reference is files
};

/// The operator of `kernel`. Throws Error bad_data when the files have changed since the driver read them.
std::unique_ptr<const templates::SpecOperator> load_external(const std::filesystem::path& spec,
                                                             const std::string& source_hash);

/// Runs the reference kernel on the device over `prepared`'s inputs, with guard bands, and makes its results what is
/// expected. It runs twice, over differently poisoned outputs. Throws Error device when it fails, writes outside its
/// operands or to its inputs, or leaves elements of an output unwritten or NaN.
void run_reference(const hip::Provider& provider, int device, const templates::SpecOperator& op,
                   std::span<const std::byte> code, PreparedProblem& prepared);

}  // namespace wavetune::measure
