// Checkpoint tensors into a rank's weight buffers.
#pragma once

#include "model/safetensors.h"
#include "runtime/engine/rank_memory.h"

namespace wavetune::engine {

/// Fills every weight buffer of `program`, in the orders given, and says every few seconds how far it is. Throws what
/// model::load_weight throws, and Error device.
void upload_weights(const hip::Api& api, const model::Program& program, const model::Checkpoint& checkpoint,
                    const RankMemory& memory, const kernels::WeightOrders& orders);

}  // namespace wavetune::engine
