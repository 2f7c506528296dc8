// One trial inside the measuring process: load, verify against the reference, time.
#pragma once

#include "runtime/hip/provider.h"
#include "search/measure/messages.h"
#include "search/measure/prepared_problem.h"

namespace wavetune::measure {

struct TrialRun {
  MeasureResult result;
  bool device_lost = false;  ///< a kernel failed on the device: this process must not measure any more
};

/// Never throws for what the kernel does. Writes `device_index`'s memory; needs that device to itself while timing.
TrialRun verify_and_time(const hip::Provider& provider, int device_index, const PreparedProblem& prepared,
                         const MeasureRequest& request);

}  // namespace wavetune::measure
