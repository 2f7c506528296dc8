// What a kernel compiled for the CPU and the runtime that executes it agree on. Read by both: first part of the CPU prelude,
// and included by runtime/hip/cpu. No includes of its own, so that compiling a kernel stays fast.
#ifndef WAVETUNE_CPU_ABI
#define WAVETUNE_CPU_ABI

namespace wt_cpu {

inline constexpr unsigned abi_version = 2;
inline constexpr unsigned wave_lanes = 64;
inline constexpr unsigned max_threads = 1024;
inline constexpr unsigned max_waves = max_threads / wave_lanes;
inline constexpr unsigned max_shared_variables = 64;
/// LDS of one block (static and dynamic together): MI355X's 160 KiB.
inline constexpr unsigned lds_limit = 163840;

/// Bytes that the largest matrix instructions exchange (16x16x128 and 32x32x64): 2048 floats of either operand and 64 scales.
inline constexpr unsigned matrix_bytes = 16896;

struct Dim {
  unsigned x, y, z;
};

/// Operations at which the lanes of a wave meet. Lanes that meet at different ones are an error of the kernel.
enum class Meeting : unsigned { none, shuffle, ballot, sum, max, matrix };

/// What the lanes of a wave exchange. Operations alternate between the two buffers: a lane can be at most one operation ahead
/// of the slowest one, which then still reads the other buffer.
struct alignas(64) Wave {
  unsigned char buffer[2][matrix_bytes];
  unsigned long long present[2];  ///< lanes that took part in the operation
  unsigned long long live;        ///< lanes that have not ended
  unsigned long long arrived;
  unsigned parity;
  Meeting meeting;
};

struct Block;

/// Combines what the lanes of `present` deposited, before any of them goes on.
using Combine = void (*)(unsigned char* buffer, unsigned long long present);

/// The runtime's side.
struct Host {
  void (*barrier)(Block* block, unsigned thread);
  void (*meet)(Block* block, unsigned thread, Meeting meeting, Combine combine);
  void (*thread_ended)(Block* block, unsigned thread);
  void* (*allocate_shared)(Block* block, unsigned* slot, unsigned long long bytes, unsigned long long alignment);
};

/// The block that an operating system thread executes right now.
struct Block {
  const Host* host;
  Dim block_idx, block_dim, grid_dim;
  unsigned threads;  ///< of the block
  unsigned next;     ///< next thread that has not begun
  unsigned live;     ///< threads that have not ended, begun or not
  unsigned waiting;  ///< threads that wait at a barrier or meeting
  void* dynamic_lds;
  Wave* waves;
  void* shared[max_shared_variables];  ///< addresses of the block's static __shared__ variables, by slot; null: not yet used
};

/// One __global__ function. `run` executes threads of `block` until none is left to begin.
struct Entry {
  const char* name;
  void (*run)(Block* block, void* const* arguments);
  const unsigned* sizes;       ///< of the parameters, in bytes
  const unsigned* alignments;
  unsigned parameters;
  unsigned launch_bounds;  ///< largest block
};

struct Table {
  unsigned version;  ///< abi_version
  unsigned entries;
  const Entry* entry;
};

}  // namespace wt_cpu

#endif  // WAVETUNE_CPU_ABI
