// Ordering and data movement between the devices of one tensor-parallel group, all in this process. The sum itself is
// the `all_reduce` operator's kernel; this is what makes the peers' partial results readable for it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/hip/handles.h"

namespace wavetune::comm {

/// One member of the group. The stream belongs to the caller and lives on `device`.
struct Rank {
  int device = 0;
  hipStream_t stream = nullptr;
};

/// How one rank reads another's memory.
enum class PeerPath {
  direct,  ///< kernels dereference the peer's pointers
  staged,  ///< copied into a buffer of the reader first (hipDeviceCanAccessPeer says no)
};

/// Used from one host thread. Enqueues only: nothing here waits on the host.
class Communicator {
 public:
  /// Enables peer access where the devices have it. `largest_partial_bytes` is the size of the largest tensor that
  /// exchange() is called with; staging buffers of that size are made for each pair without peer access.
  Communicator(const hip::Api& api, std::vector<Rank> ranks, std::size_t largest_partial_bytes);

  int size() const { return static_cast<int>(ranks_.size()); }
  PeerPath path(int reader, int owner) const { return paths_[pair_index(reader, owner)]; }

  /// The address at which rank `reader` finds what rank `owner` holds at `owner_address`, after exchange(): the same
  /// address, or the pair's staging buffer.
  void* readable_address(int reader, int owner, void* owner_address) const;

  /// Everything that each rank's stream was given so far happens before everything that any rank's stream is given from
  /// now on. `partials` has each rank's address of `bytes` bytes that the others are about to read at
  /// readable_address().
  void exchange(std::span<void* const> partials, std::size_t bytes);

  /// Copies `bytes` from `source` on rank `owner` to `destination` on rank 0, after what `owner` was given so far; what
  /// rank 0 is given from now on comes after the copy.
  void gather_to_first(int owner, const void* source, void* destination, std::size_t bytes);

 private:
  std::size_t pair_index(int reader, int owner) const {
    return static_cast<std::size_t>(reader) * ranks_.size() + static_cast<std::size_t>(owner);
  }
  void use(int rank) const;
  void copy(int reader, int owner, void* destination, const void* source, std::size_t bytes) const;

  const hip::Api& api_;
  std::vector<Rank> ranks_;
  std::vector<PeerPath> paths_;             ///< [reader][owner]
  std::vector<hip::DeviceBuffer> staging_;  ///< [reader][owner], empty where the path is direct
  std::vector<hip::Event> ready_;           ///< one for each rank
};

}  // namespace wavetune::comm
