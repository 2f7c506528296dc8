// Sum of the ranks' partial results, by a device that can read all ranks' memory.
#pragma once

#include "templates/operator.h"

namespace wavetune::templates {

/// dims m, n, ranks (1 to 8); operands in0 .. in{ranks-1} [m, n], out [m, n] = their sum in rank order, accumulated in
/// float. out may be one of the inputs. Ordering between devices (nobody overwrites what is still read) is the
/// caller's.
const Operator& all_reduce_operator();

}  // namespace wavetune::templates
