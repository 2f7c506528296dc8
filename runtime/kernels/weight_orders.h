// How a program's weights lie in memory: in the order that the kernels which won for them read.
#pragma once

#include <map>

#include "model/program.h"
#include "runtime/kernels/kernel_cache.h"

namespace wavetune::kernels {

/// A weight buffer that does not lie in rows.
struct WeightOrder {
  templates::OperandSpec spec;  ///< as the operator knows it, in rows
  templates::Arrangement arrangement = templates::Arrangement::rows;
};

/// By buffer of the program; buffers that stay in rows are not in it.
using WeightOrders = std::map<int, WeightOrder>;

/// Decides for every family of problems in `program`, and tells `kernels`. A weight may leave its rows when it is read
/// as one whole and by one call only, and so are all other weights of its family.
WeightOrders settle_weight_orders(const model::Program& program, const templates::DeviceLimits& limits,
                                  KernelCache& kernels);
/// Same, for looking at what would be chosen.
WeightOrders settle_weight_orders(const model::Program& program, const templates::DeviceLimits& limits,
                                  WinnerIndex& winners);

}  // namespace wavetune::kernels
