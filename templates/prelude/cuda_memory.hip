// Memory vocabulary on NVIDIA: windows with bounds, copies from memory to LDS (shared memory) past the registers, and
// the waits that go with them. cuda_async.hip has what only NVIDIA's own kernels use.

namespace wt {

/// A window of `bytes` bytes on memory. Reads outside give zeros: rows and the tail of k need no branches. The address
/// of an access is base + lane_offset + uniform_offset; only lane_offset is held against the bound.
struct window {
  const char* base;
  u32 bytes;
  __device__ inline window(const void* base_, i64 bytes_)
      : base(static_cast<const char*>(base_)), bytes(bytes_ < outside ? static_cast<u32>(bytes_) : outside) {}
  __device__ inline const char* at(u32 lane_offset, u32 uniform_offset) const {
    return base + (static_cast<u64>(lane_offset) + uniform_offset);
  }
};

__device__ inline chunk load_chunk(const window& from, u32 lane_offset, u32 uniform_offset) {
  uint4 words = {0, 0, 0, 0};
  if (lane_offset < from.bytes) words = *reinterpret_cast<const uint4*>(from.at(lane_offset, uniform_offset));
  return {{words.x, words.y, words.z, words.w}};
}
__device__ inline u32 load_word(const window& from, u32 lane_offset, u32 uniform_offset) {
  return lane_offset < from.bytes ? *reinterpret_cast<const u32*>(from.at(lane_offset, uniform_offset)) : 0u;
}
__device__ inline u32 load_byte(const window& from, u32 lane_offset, u32 uniform_offset) {
  return lane_offset < from.bytes ? *reinterpret_cast<const unsigned char*>(from.at(lane_offset, uniform_offset)) : 0u;
}

/// The LDS address of a pointer into LDS.
__device__ inline u32 lds_address(const void* p) { return static_cast<u32>(__cvta_generic_to_shared(p)); }

/// Every lane's 16 bytes at lane_offset + uniform_offset + Skip of the window go to lds + LdsSkip + 16 * lane without
/// passing registers. The bytes are there after wait_copies and, for other waves, a barrier. Each such copy is a group
/// of its own, so that wait_copies can count them.
template <int Skip, int LdsSkip>
__device__ inline void copy_chunk_to_lds(const window& from, u32 lane_offset, u32 uniform_offset, char* lds) {
  const bool inside = lane_offset < from.bytes;
  const char* const source = inside ? from.at(lane_offset, uniform_offset + Skip) : from.base;
  asm volatile(
      "cp.async.cg.shared.global [%0], [%1], 16, %2;\n\t"
      "cp.async.commit_group;"
      :
      : "r"(lds_address(lds) + LdsSkip + 16 * static_cast<u32>(lane())), "l"(source), "r"(inside ? 16 : 0)
      : "memory");
}

/// Waits until at most N of this wave's newest copies (copy_chunk_to_lds) are on their way.
template <int N>
__device__ inline void wait_copies() {
  asm volatile("cp.async.wait_group %0;" : : "n"(N) : "memory");
  __syncwarp();
}

/// A barrier that waits for this wave's LDS accesses, but not for copies in flight.
__device__ inline void barrier_keeping_copies() { __syncthreads(); }

/// Writes `value` at an offset of the window, or nothing when the offset is `outside`.
template <class V>
__device__ inline void store_within(const window& to, u32 offset, const V& value) {
  if (offset >= to.bytes) return;
  char* const place = const_cast<char*>(to.base) + offset;
  if constexpr (sizeof(V) == 16) {
    *reinterpret_cast<uint4*>(place) = __builtin_bit_cast(uint4, value);
  } else if constexpr (sizeof(V) == 8) {
    *reinterpret_cast<uint2*>(place) = __builtin_bit_cast(uint2, value);
  } else if constexpr (sizeof(V) == 4) {
    *reinterpret_cast<u32*>(place) = __builtin_bit_cast(u32, value);
  } else {
    static_assert(sizeof(V) == 2);
    *reinterpret_cast<unsigned short*>(place) = __builtin_bit_cast(unsigned short, value);
  }
}

/// Nothing here: ptxas orders memory accesses and matrix instructions as it sees fit.
__device__ inline void keep_order() {}

/// Orders this wave's LDS accesses before and after it, between its lanes.
__device__ inline void wave_sync() { __syncwarp(); }

}  // namespace wt
