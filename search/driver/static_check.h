// What the code object of a configuration says before a GPU sees it: whether it fits, spills, and how many waves fit.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "db/trial.h"
#include "templates/operator.h"

namespace wavetune::search {

struct StaticCheck {
  /// ok; launch_error when the operator has no launches for the configuration; resource_limit when a launch cannot be
  /// resident on an empty compute unit; pruned when a kernel spills registers or keeps private arrays in scratch
  /// memory, which costs more than any configuration gains.
  db::Outcome outcome = db::Outcome::ok;
  std::string reason;            ///< of the first launch that is at fault
  std::optional<int> occupancy;  ///< waves per SIMD of the launch that has fewest, when all fit
};

/// Looks at every launch of `config` as compiled to `code`. Only code objects for an architecture whose compute
/// unit is known (isa::occupancy_on) are looked into; all else is ok. On NVIDIA a few words of local memory are let
/// pass.
StaticCheck check_statically(const templates::Operator& op, const db::Problem& problem, const db::Config& config,
                             std::span<const std::byte> code, const templates::DeviceLimits& limits);

}  // namespace wavetune::search
