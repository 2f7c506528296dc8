// Memory vocabulary on the CPU: what amd_memory.hip says, done at once.

namespace wt {

/// A window of `bytes` bytes on memory. Reads outside give zeros: rows and the tail of k need no branches. The address
/// of an access is base + lane_offset + uniform_offset; only lane_offset is held against the bound.
struct window {
  const char* base;
  u64 bytes;
  inline window(const void* base_, i64 bytes_)
      : base(static_cast<const char*>(base_)),
        bytes(static_cast<u64>(bytes_) < outside ? static_cast<u64>(bytes_) : outside) {}
  template <class V>
  inline V load(u32 lane_offset, u32 uniform_offset) const {
    V value{};
    if (lane_offset < bytes) __builtin_memcpy(&value, base + lane_offset + uniform_offset, sizeof value);
    return value;
  }
};

inline chunk load_chunk(const window& from, u32 lane_offset, u32 uniform_offset) {
  return from.load<chunk>(lane_offset, uniform_offset);
}
inline u32 load_word(const window& from, u32 lane_offset, u32 uniform_offset) {
  return from.load<u32>(lane_offset, uniform_offset);
}

/// Every lane's 16 bytes at lane_offset + uniform_offset + Skip of the window go to lds + LdsSkip + 16 * lane.
template <int Skip, int LdsSkip>
inline void copy_chunk_to_lds(const window& from, u32 lane_offset, u32 uniform_offset, char* lds) {
  const chunk value = load_chunk(from, lane_offset, uniform_offset + Skip);
  __builtin_memcpy(lds + LdsSkip + 16 * lane(), &value, sizeof value);
}

template <int N>
inline void wait_copies() {}

inline void barrier_keeping_copies() { __syncthreads(); }

/// Writes `value` at an offset of the window, or nothing when the offset is `outside`.
template <class V>
inline void store_within(const window& to, u32 offset, const V& value) {
  if (offset < to.bytes) __builtin_memcpy(const_cast<char*>(to.base) + offset, &value, sizeof value);
}

inline void keep_order() {}

/// Orders this wave's LDS accesses before and after it, between its lanes.
inline void wave_sync() { ballot(true); }

// Overlap with the kernels before and after on the stream exists on NVIDIA only.
inline void wait_for_predecessor() {}
inline void let_successor_start() {}

}  // namespace wt
