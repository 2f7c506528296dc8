// How busy the loop of a compiled matrix product keeps the matrix core.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "templates/operator.h"

namespace wavetune::search {

/// Overlapped share (isa::IssueCycles) of the hottest loop of the first launch's kernel; nothing when that has no
/// matrix instructions, or when the code cannot be disassembled here (the log says why, once).
std::optional<double> matrix_share(const templates::Operator& op, const templates::Problem& problem,
                                   const templates::Config& config, std::span<const std::byte> code);

}  // namespace wavetune::search
