// RAII for HIP handles, and errors with HIP's own text. Nothing here hides a call: each class is one HIP handle.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "runtime/hip/api.h"

namespace wavetune::hip {

/// Throws Error device ("hipMalloc of 4096 bytes: hipErrorOutOfMemory (out of memory)") unless `code` is hipSuccess.
void check(const Api& api, hipError_t code, const std::string& action);
void check_rtc(const Api& api, hiprtcResult code, const std::string& action);

/// Device memory on the device that was current when it was made.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(const Api& api, std::size_t bytes);
  ~DeviceBuffer() { reset(); }
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    DeviceBuffer taken(std::move(other));
    swap(taken);
    return *this;
  }

  void* get() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  void reset();

 private:
  void swap(DeviceBuffer& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }
  const Api* api_ = nullptr;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Owns one handle that `Destroy` (a member of Api) gives back.
template <class Handle, auto Destroy>
class Owned {
 public:
  Owned() = default;
  Owned(const Api& api, Handle handle) : api_(&api), handle_(handle) {}
  ~Owned() { reset(); }
  Owned(Owned&& other) noexcept : api_(other.api_), handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    reset();
    api_ = other.api_;
    handle_ = std::exchange(other.handle_, nullptr);
    return *this;
  }
  Handle get() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }
  void reset() {
    if (handle_ != nullptr) (void)(api_->*Destroy)(handle_);
    handle_ = nullptr;
  }

 private:
  const Api* api_ = nullptr;
  Handle handle_ = nullptr;
};

using Stream = Owned<hipStream_t, &Api::hipStreamDestroy>;
using Event = Owned<hipEvent_t, &Api::hipEventDestroy>;
using Module = Owned<hipModule_t, &Api::hipModuleUnload>;
using Graph = Owned<hipGraph_t, &Api::hipGraphDestroy>;
using GraphExec = Owned<hipGraphExec_t, &Api::hipGraphExecDestroy>;

Stream make_stream(const Api& api);
Event make_event(const Api& api, unsigned flags = 0);
Module load_module(const Api& api, std::span<const std::byte> code);
hipFunction_t get_function(const Api& api, const Module& module, const std::string& name);

/// Ends what hipStreamBeginCapture began on `stream`; the captured work, ready to be launched.
GraphExec end_capture(const Api& api, hipStream_t stream);

/// Launches with one packed parameter struct.
void launch(const Api& api, hipFunction_t function, std::span<const std::uint32_t, 3> grid,
            std::span<const std::uint32_t, 3> block, std::uint32_t lds_bytes, hipStream_t stream,
            std::span<const std::byte> params);

}  // namespace wavetune::hip
