// Where a trial is made, for the database.
#pragma once

#include <string>

#include "runtime/hip/provider.h"

namespace wavetune::search {

/// "node7:0000:c1:00.0": the host and the PCI address of a GPU, which stays when a job is shown only some of the
/// node's. "node7:0", with the index, where the provider tells no address (CPU).
std::string machine_name(const std::string& host, const hip::Provider& provider, int device);

}  // namespace wavetune::search
