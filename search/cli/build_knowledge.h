// What this program's templates tell of the operators that a database names.
#pragma once

#include "db/health/build_knowledge.h"

namespace wavetune::cli {

/// Source hashes are computed once each. Configurations are looked at for AMD and NVIDIA architectures that kernels are
/// written for; those of a CPU depend on the machine.
db::BuildKnowledge build_knowledge();

}  // namespace wavetune::cli
