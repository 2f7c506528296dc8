// What ptxas says in the log of a compile for NVIDIA (--ptxas-options=-v).
#pragma once

#include <string>

#include "db/trial.h"

namespace wavetune::jit {

/// Takes the lines of "ptxas info" out of the log, which are no diagnostics, and the most bytes that a kernel spills
/// into `resources`, as registers of 4 bytes. Other logs are left as they are.
void take_ptxas_report(std::string& log, db::Resources& resources);

}  // namespace wavetune::jit
