// Stores rows of new tokens in a paged cache.
#pragma once

#include "templates/operator.h"

namespace wavetune::templates {

/// dims m, n, slots; operands src [m, n], slot i32 [m], cache [slots, n] (inout). cache[slot[i]] = src[i]; a slot
/// outside [0, slots), such as -1, skips the row. Slots must be distinct.
const Operator& cache_write_operator();

}  // namespace wavetune::templates
