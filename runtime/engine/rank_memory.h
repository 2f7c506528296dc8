// The device memory of one rank: every buffer of its program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/program.h"
#include "runtime/hip/handles.h"
#include "runtime/kernels/weight_orders.h"

namespace wavetune::engine {

/// What activations and caches hold before anything is written. A correct program gives the same results with both.
enum class InitialContents {
  untouched,  ///< as hipMalloc gives it
  poison,     ///< all bytes 0xFF: NaN as a number, -1 as an index (for tests)
};

/// Every buffer is allocated for the largest step, weights as their order needs. The input buffers that are written
/// anew in every step lie in one block, in the same layout on every rank, so that one copy fills them.
class RankMemory {
 public:
  RankMemory(const hip::Api& api, int device, const model::Program& program, const model::StepShape& largest,
             InitialContents contents, const kernels::WeightOrders& orders);

  int device() const { return device_; }
  void* address(int buffer) const { return addresses_[static_cast<std::size_t>(buffer)]; }
  templates::View view(const model::Ref& ref, const model::StepShape& shape) const;

  /// The block of per-step inputs: every Storage::input buffer except the block table.
  void* inputs() const { return inputs_.get(); }
  std::size_t input_bytes() const { return inputs_.bytes(); }
  std::size_t input_offset(int buffer) const;

 private:
  const model::Program& program_;
  int device_;
  hip::DeviceBuffer inputs_;
  std::vector<hip::DeviceBuffer> buffers_;  ///< one for each buffer that is not in inputs_
  std::vector<std::byte*> addresses_;       ///< one for each buffer of the program
};

}  // namespace wavetune::engine
