// How a kernel from outside is launched: LocalSize, GlobalSize, GridDiv and SharedMemory of a KernelSpecification.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "templates/operator.h"
#include "templates/t1/spec_reader.h"

namespace wavetune::templates {

struct KernelLaunch {
  std::array<Expression, 3> local;  ///< threads of a block
  std::optional<std::array<Expression, 3>> global;
  bool global_in_threads = false;
  /// Blocks are ProblemSize over the product of these; none: ProblemSize itself.
  std::array<std::vector<Expression>, 3> divisors;
  bool divided = false;  ///< the divisors decide, not `global`
  std::optional<Expression> shared_memory;
  std::vector<std::int64_t> problem_size;  ///< up to three
};

/// `place` is a KernelSpecification, or the Reference in one. Throws Error bad_data with the place.
KernelLaunch read_launch(const db::JsonReader& place, SpecReader& reader, std::vector<std::int64_t> problem_size);

/// Grid, block and LDS of `launch`. Throws Error bad_data when an expression cannot be evaluated, or gives a size that
/// no launch can have.
void set_geometry(const KernelLaunch& kernel, const Scope& scope, Launch& launch);

}  // namespace wavetune::templates
