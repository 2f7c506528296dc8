// Page-locked host memory: what asynchronous copies read and write.
#pragma once

#include <cstddef>
#include <utility>

#include "runtime/hip/handles.h"

namespace wavetune::engine {

class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  PinnedBuffer(const hip::Api& api, std::size_t bytes) : api_(&api), bytes_(bytes) {
    hip::check(api, api.hipHostMalloc(&data_, bytes == 0 ? 1 : bytes, hipHostMallocDefault), "hipHostMalloc");
  }
  ~PinnedBuffer() {
    if (data_ != nullptr) (void)api_->hipHostFree(data_);
  }
  PinnedBuffer(PinnedBuffer&& other) noexcept
      : api_(other.api_), data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  std::size_t bytes() const { return bytes_; }
  /// The memory from `offset` on, as elements of T.
  template <class T>
  T* at(std::size_t offset = 0) const {
    return reinterpret_cast<T*>(static_cast<std::byte*>(data_) + offset);
  }

 private:
  const hip::Api* api_ = nullptr;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace wavetune::engine
