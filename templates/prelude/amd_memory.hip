// Memory vocabulary on AMD CDNA3 and CDNA4: windows with bounds, direct copies from memory to LDS, and the waits that
// go with them.

namespace wt_amd {

typedef unsigned int u32x4 __attribute__((ext_vector_type(4)));
typedef unsigned int u32x2 __attribute__((ext_vector_type(2)));

}  // namespace wt_amd

namespace wt {

/// A window of `bytes` bytes on memory. Reads outside give zeros: rows and the tail of k need no branches. The address
/// of an access is base + lane_offset + uniform_offset; only lane_offset is held against the bound.
struct window {
  __amdgpu_buffer_rsrc_t resource;
  wt_amd::u32x4 words;  // the same descriptor, for what is written out in assembly
  __device__ inline window(const void* base, i64 bytes) {
    constexpr u32 raw = 0x00020000;  // 32-bit data format, no stride
    const u32 size = bytes < outside ? static_cast<u32>(bytes) : outside;
    const u64 address = reinterpret_cast<u64>(base);
    resource = __builtin_amdgcn_make_buffer_rsrc(const_cast<void*>(base), 0, static_cast<int>(size), raw);
    // Assembly takes it in scalar registers: say that it is the same for all lanes.
    const auto uniform = [](u32 value) {
      return static_cast<u32>(__builtin_amdgcn_readfirstlane(static_cast<int>(value)));
    };
    words = wt_amd::u32x4{uniform(static_cast<u32>(address)), uniform(static_cast<u32>(address >> 32) & 0xFFFF),
                          uniform(size), raw};
  }
};

__device__ inline chunk load_chunk(const window& from, u32 lane_offset, u32 uniform_offset) {
  return __builtin_bit_cast(chunk,
                            __builtin_amdgcn_raw_buffer_load_b128(from.resource, lane_offset, uniform_offset, 0));
}
__device__ inline u32 load_word(const window& from, u32 lane_offset, u32 uniform_offset) {
  return __builtin_amdgcn_raw_buffer_load_b32(from.resource, lane_offset, uniform_offset, 0);
}
__device__ inline u32 load_byte(const window& from, u32 lane_offset, u32 uniform_offset) {
  return __builtin_amdgcn_raw_buffer_load_b8(from.resource, lane_offset, uniform_offset, 0);
}

/// The LDS address of a pointer into LDS.
__device__ inline u32 lds_address(const char* p) {
  return static_cast<u32>(reinterpret_cast<__UINTPTR_TYPE__>((__attribute__((address_space(3))) const char*)p));
}

/// Every lane's 16 bytes at lane_offset + uniform_offset + Skip of the window go to lds + LdsSkip + 16 * lane without
/// passing registers; `lds` and `uniform_offset` are the same for the whole wave. The bytes are there after wait_copies
/// and, for other waves, a barrier.
template <int Skip, int LdsSkip>
__device__ inline void copy_chunk_to_lds(const window& from, u32 lane_offset, u32 uniform_offset, char* lds) {
#if defined(__gfx950__)
  // Written out, because the compiler cannot tell the stages of a ring of LDS buffers apart: given the builtin it waits
  // for all copies before any LDS read. The addition between the write of m0 and its use is also the wait state that
  // they need. (m0 is reserved: the compiler keeps nothing there and does not take it in the clobber list.)
  u32 offset;
  asm volatile(
      "s_add_u32 m0, %4, %6\n\t"
      "s_add_u32 %0, %3, %5\n\t"
      "buffer_load_dwordx4 %1, %2, %0 offen lds"
      : "=&s"(offset)
      : "v"(lane_offset), "s"(from.words), "s"(uniform_offset), "s"(lds_address(lds)), "n"(Skip), "n"(LdsSkip)
      : "scc");
#else
  *reinterpret_cast<chunk*>(lds + LdsSkip + 16 * lane()) = load_chunk(from, lane_offset, uniform_offset + Skip);
#endif
}

/// Waits until at most N of this wave's newest copies and loads are on their way (they end in order).
template <int N>
__device__ inline void wait_copies() {
  constexpr int n = N < 63 ? N : 63;
  asm volatile("" ::: "memory");
  __builtin_amdgcn_s_waitcnt((n & 15) | (n >> 4) << 14 | 0x0F70);  // vmcnt(n), the other counters at their maximum
}

/// A barrier that waits for this wave's LDS accesses, but not for copies and loads in flight.
__device__ inline void barrier_keeping_copies() {
  asm volatile("" ::: "memory");
  __builtin_amdgcn_s_waitcnt(0xC07F);  // lgkmcnt(0)
  __builtin_amdgcn_s_barrier();
  asm volatile("" ::: "memory");
}

/// Writes `value` at an offset of the window, or nothing when the offset is `outside`.
template <class V>
__device__ inline void store_within(const window& to, u32 offset, const V& value) {
  if constexpr (sizeof(V) == 16) {
    __builtin_amdgcn_raw_buffer_store_b128(__builtin_bit_cast(wt_amd::u32x4, value), to.resource, offset, 0, 0);
  } else if constexpr (sizeof(V) == 8) {
    __builtin_amdgcn_raw_buffer_store_b64(__builtin_bit_cast(wt_amd::u32x2, value), to.resource, offset, 0, 0);
  } else if constexpr (sizeof(V) == 4) {
    __builtin_amdgcn_raw_buffer_store_b32(__builtin_bit_cast(u32, value), to.resource, offset, 0, 0);
  } else {
    static_assert(sizeof(V) == 2);
    __builtin_amdgcn_raw_buffer_store_b16(__builtin_bit_cast(unsigned short, value), to.resource, offset, 0, 0);
  }
}

/// The compiler moves nothing across: keeps memory accesses spread among matrix instructions as they were written.
__device__ inline void keep_order() { __builtin_amdgcn_sched_barrier(0); }

/// Orders this wave's LDS accesses before and after it, between its lanes.
__device__ inline void wave_sync() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

// Overlap with the kernels before and after on the stream exists on NVIDIA only.
__device__ inline void wait_for_predecessor() {}
__device__ inline void let_successor_start() {}

}  // namespace wt
