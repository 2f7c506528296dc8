// A tensor in host memory: what fills a kernel's inputs, and what its outputs are compared with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "templates/dtype.h"

namespace wavetune::templates {

/// Dense, row-major; `count` elements of `dtype`. fp4 packs two elements a byte, and `count` is even.
class HostTensor {
 public:
  HostTensor() = default;
  HostTensor(DType dtype, std::int64_t count);

  DType dtype() const { return dtype_; }
  std::int64_t count() const { return count_; }
  std::span<std::byte> bytes() { return bytes_; }
  std::span<const std::byte> bytes() const { return bytes_; }

  /// Element as a number, whatever the dtype. No bounds check beyond an assert.
  double at(std::int64_t index) const;
  /// Stores a number, rounded to the dtype (fp8 and fp4 saturate, e8m0 rounds down to a power of two).
  void set(std::int64_t index, double value);
  template <class T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }
  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }

 private:
  DType dtype_ = DType::f32;
  std::int64_t count_ = 0;
  std::vector<std::byte> bytes_;
};

}  // namespace wavetune::templates
