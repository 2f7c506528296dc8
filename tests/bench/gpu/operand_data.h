// What a problem's operands hold when it is only timed: random numbers of sensible size, and for indices what the
// operator itself makes. Far quicker than Operator::fill for gigabytes of expert weights.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/hip/handles.h"
#include "templates/operator.h"

namespace wavetune::gpu_bench {

struct OperandData {
  /// In operand order, in rows; empty where random numbers do.
  std::vector<templates::HostTensor> exact;
  /// Bytes of inputs and outputs that one run needs: experts that no row goes to do not count.
  double needed_bytes = 0;
  /// The routing of a grouped product: row numbers sorted by expert, and where each expert's begin. Else empty.
  std::vector<std::int32_t> order, offsets;
};

OperandData operand_data(const templates::Operator& op, const db::Problem& problem);

/// Writes `bytes` bytes of random numbers of type `dtype`. Waits.
void fill_randomly(const hip::Api& api, void* destination, std::size_t bytes, templates::DType dtype);

}  // namespace wavetune::gpu_bench
