// One hipRTC compile, with the cases in which hipRTC's own answer misleads.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "db/trial.h"
#include "runtime/hip/api.h"

namespace wavetune::jit {

struct RtcResult {
  db::Outcome outcome = db::Outcome::ok;  ///< ok or compile_error
  std::string log;                        ///< never empty for an error
  std::vector<std::byte> code;
};

/// Compiles `source` in this process. An answer of success with an error in the log counts as an error, an empty log is
/// explained. Throws Error device when hipRTC cannot even take the source.
RtcResult compile_program(const hip::Api& api, const std::string& source, const std::vector<std::string>& options);

}  // namespace wavetune::jit
