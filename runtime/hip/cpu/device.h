// The CPU's devices: shares of the machine's memory, with streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <vector>

#include "runtime/hip/cpu/stream.h"

namespace wavetune::hip::cpu {

class Device {
 public:
  explicit Device(int index) : index_(index) {}

  int index() const { return index_; }
  /// Bytes in use. reserve() is false when `bytes` more would exceed `limit`.
  std::size_t used() const { return used_.load(std::memory_order_relaxed); }
  bool reserve(std::size_t bytes, std::size_t limit);
  void release(std::size_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  std::shared_ptr<Stream> make_stream(unsigned flags);
  /// The legacy default stream: ordered with all streams of this device that were made without hipStreamNonBlocking.
  std::shared_ptr<Stream> null_stream();
  /// Puts `operation` behind what legacy default stream semantics demand.
  void enqueue(Stream& stream, Operation operation);
  /// True when nothing that the default stream is ordered with is in flight: synchronous copies then need no stream.
  bool default_order_idle();
  void synchronize();
  std::vector<std::shared_ptr<Stream>> streams();

  /// True when it was not enabled before.
  bool enable_peer(int peer);

  /// The first failure of a kernel since the last call, which takes it.
  void record_failure(hipError_t error);
  hipError_t take_failure() { return failure_.exchange(hipSuccess); }

 private:
  const int index_;
  std::atomic<std::size_t> used_{0};
  std::mutex mutex_;
  std::shared_ptr<Stream> null_stream_;
  std::vector<std::weak_ptr<Stream>> streams_;
  std::set<int> peers_;
  std::atomic<hipError_t> failure_{hipSuccess};
};

/// One hipMalloc or hipHostMalloc.
struct Allocation {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  int device = -1;  ///< -1: pinned host memory
};

/// All devices of the process and what is allocated on them. Lives until the process ends.
class Machine {
 public:
  static Machine& get();

  /// Makes sure that at least `count` devices are there.
  void show_devices(int count);
  int device_count() const { return count_.load(); }
  /// Null when there is no device of that number.
  Device* device(int index);
  /// Memory of one device: the machine's (or WAVETUNE_CPU_MEMORY, per device) shared evenly.
  std::size_t memory_bytes() const;

  /// Null when the device's share is used up (`device` >= 0) or the system has no more.
  void* allocate(std::size_t bytes, int device);
  /// False when `pointer` is not the beginning of an allocation of that kind.
  bool free(void* pointer, bool host);
  /// The allocation that contains `pointer`.
  std::optional<Allocation> find(const void* pointer) const;

 private:
  Machine();

  std::atomic<int> count_{0};
  std::mutex grow_mutex_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::size_t total_bytes_ = 0;       ///< of all devices together
  std::size_t per_device_bytes_ = 0;  ///< when set by the user
  mutable std::shared_mutex allocations_mutex_;
  std::map<std::uintptr_t, Allocation> allocations_;
};

/// Most devices that can be shown.
inline constexpr int max_devices = 64;

}  // namespace wavetune::hip::cpu
