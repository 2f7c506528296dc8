// Where an operand of a test lies: between guard bands, with gaps, all of it poisoned.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "operator_harness.h"
#include "templates/host_tensor.h"
#include "templates/operator.h"

namespace wavetune::templates::test {

/// An operand's memory: guard band, tensor with its gaps, guard band. Counted in the smallest unit that has an address:
/// an element, or a pair of fp4.
class Placement {
 public:
  Placement(const OperandSpec& spec, Layout layout);

  std::vector<std::byte>& image() { return image_; }
  View view(void* base) const {
    return {static_cast<std::byte*>(base) + static_cast<std::size_t>(offset_) * size_, row_stride_ * per_unit_,
            batch_stride_ * per_unit_};
  }

  void put(const HostTensor& tensor) {
    each_row([&](std::size_t dense, std::size_t place, std::size_t bytes) {
      std::memcpy(image_.data() + place, tensor.bytes().data() + dense, bytes);
    });
  }
  /// Takes the tensor out and leaves poison in its place, so that what remains must equal a fresh placement.
  HostTensor take(std::vector<std::byte>& written) const;

 private:
  template <class Body>
  void each_row(const Body& body) const {
    for (std::int64_t b = 0; b < spec_.batch; ++b) {
      for (std::int64_t r = 0; r < spec_.rows; ++r) {
        body(static_cast<std::size_t>((b * spec_.rows + r) * spec_.cols) * size_,
             static_cast<std::size_t>(offset_ + b * batch_stride_ + r * row_stride_) * size_,
             static_cast<std::size_t>(spec_.cols) * size_);
      }
    }
  }

  OperandSpec spec_;
  std::int64_t per_unit_;
  std::size_t size_;
  std::int64_t offset_, row_stride_, batch_stride_;
  std::vector<std::byte> image_;
};

}  // namespace wavetune::templates::test
