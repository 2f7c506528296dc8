// What one replica is made of, for a layout: how long its steps and sequences may be, and what it computes.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/engine/engine_factory.h"

namespace wavetune::engine {

struct ReplicaSizes {
  ExecutorOptions executor;      ///< without the devices
  std::int64_t max_context = 0;  ///< of a sequence: what the model, the options and the cache allow
  model::Program program;        ///< rank 0's

  /// Step shapes in which the replica looks kernels up (kernels::serving_shapes).
  std::vector<model::StepShape> lookup_shapes() const;
};

/// Throws Error usage for sizes that no replica can have.
void check_sizes(const EngineOptions& options);

/// Asks the devices for their free memory unless the options give the cache's size. Throws Error usage (tp does not
/// divide), device (no memory for a cache; a call failed).
ReplicaSizes size_replica(const EngineOptions& options, const model::ModelConfig& config, const hip::Provider& provider,
                          const LayoutInfo& layout);

}  // namespace wavetune::engine
