// C = X W^T on the matrix instructions of warpgroups (path `warpgroup` of gemm and grouped_gemm, compute capability
// 9.0a).
//
// One warpgroup of a block brings tiles of 128 bytes of k into a ring of cfg::stages stages; cfg::wm x cfg::wn others
// multiply them, each its part of the block's tile. Blocks stay and go from tile to tile, so that copies of the next
// tile run while the last one is stored. With cfg::split_k > 1 the blocks of a cluster share a tile: each has a part of
// k, and they add their sums through each other's LDS.
namespace warpgroup {

using wt::i64;
using wt::u32;
using wt::u64;

using Out = wt::element<cfg::out_dtype>;

constexpr int bm = cfg::bm, bn = cfg::bn, stages = cfg::stages, split = cfg::split_k;
constexpr bool is_fp8 = cfg::format_x == wt::fp8;
constexpr bool group_scales = cfg::scale_x == 1, row_scales = cfg::scale_x == 3;
constexpr bool gathered = cfg::gathered == 1;
constexpr bool mx = cfg::format_w == wt::fp4;  // bf16 times fp4
constexpr int column_parts = cfg::column_parts;

// Blocks are clusters where warpgroup_cluster.hip says so.
#ifndef WARPGROUP_CLUSTER
#define WARPGROUP_CLUSTER
#endif

/// How many blocks of a cluster get the same rows of W from one copy; blocks of a cluster.
constexpr int multicast = cfg::multicast, cluster = split * multicast;

/// Rows of X and of W of a worker (a multiplying warpgroup), and the runs of rows of W that these are: one for each
/// column part.
constexpr int workers = cfg::wm * cfg::wn;
constexpr int worker_x = bm / cfg::wm, worker_w = bn / cfg::wn, run_w = worker_w / column_parts;

/// An instruction takes 64 rows of one operand and up to 256 of the other. The 64 rows are X's, or, of W in fp4, W's:
/// those come from registers, where they are converted (warpgroup_mx.hip).
constexpr int tiles = (mx ? worker_w : worker_x) / 64, width = mx ? worker_x : worker_w;
constexpr int sums_of_tile = width / 2;  // of a thread

/// A stage of the ring: runs of 128 bytes of X, W, and scales of W.
constexpr int row_bytes = 128;
constexpr int x_runs = mx ? 2 : 1, w_row_bytes = mx ? 64 : row_bytes;
constexpr int stage_x = x_runs * bm * row_bytes, stage_w = bn * w_row_bytes;
constexpr int scale_unit_rows = 32, scale_unit_bytes = 256;  // shuffled mx scales of 32 rows and 256 k
constexpr int stage_scales = mx ? bn / scale_unit_rows * scale_unit_bytes : 0;
constexpr int stage_filled = stage_x + stage_w + stage_scales;
constexpr int stage_bytes = (stage_filled + 1023) / 1024 * 1024;
static_assert((mx ? run_w : worker_x) % 64 == 0 && width % 32 == 0 && run_w % 32 == 0 && run_w % (8 * multicast) == 0);

/// Registers of a thread of the copying warpgroup and of the two others. Their sum over warpgroups is at most what the
/// kernel is launched with: 168 of each of 384 threads.
static_assert(workers == 2);
constexpr bool copies_much = gathered ? bm > 64 : mx && cluster > 1;
constexpr int copier_registers = copies_much ? 56 : gathered || mx || cluster > 1 ? 40 : 24;
constexpr int worker_registers = copier_registers == 56 ? 224 : copier_registers == 40 ? 232 : 240;

/// Rows of bytes in memory and the box that one copy moves (laid out by templates/gemm/tensor_map.cpp).
struct alignas(64) TensorMap {
  u64 words[16];
};

/// Addresses in LDS: the stages, and a barrier each for `full` (copies to multiply) and for `empty` (to copy again).
struct Ring {
  u32 stages_at, full, empty;
  u32 slot = 0, parity = 0;

  __device__ inline u32 stage() const { return stages_at + slot * stage_bytes; }
  __device__ inline u32 full_barrier() const { return full + 8 * slot; }
  __device__ inline u32 empty_barrier() const { return empty + 8 * slot; }
  __device__ inline void next() {
    if (++slot == stages) {
      slot = 0;
      parity ^= 1;
    }
  }
};

constexpr int copiers = gathered ? 128 + 1 : 1;  // arrivals at `full`: each thread's copies of X, and that of W

/// All threads of a block, first of all.
__device__ inline Ring make_ring(char* lds, u64* barriers) {
  Ring ring;
  ring.stages_at = (wt::lds_address(lds) + 1023u) & ~1023u;
  ring.full = wt::lds_address(barriers);
  ring.empty = ring.full + 8 * stages;
  if (threadIdx.x == 0) {
    for (int i = 0; i < stages; ++i) {
      wt::barrier_init(ring.full + 8 * i, copiers);
      wt::barrier_init(ring.empty + 8 * i, 4 * workers * multicast);
    }
    wt::fence_barrier_init();
  }
  if constexpr (cluster > 1) {
    wt::cluster_sync();
  } else {
    __syncthreads();
  }
  return ring;
}

/// A block's place in its cluster: which part of k, and which of the tiles that get the same rows of W.
__device__ inline int part_of_k() { return split > 1 ? static_cast<int>(wt::block_in_cluster()) : 0; }
__device__ inline int place_in_multicast() { return multicast > 1 ? static_cast<int>(wt::block_in_cluster()) : 0; }

/// Steps of k (a stage each) that a block multiplies: at least one. With fewer steps than parts some are beyond k,
/// where copies give zeros.
struct Steps {
  int begin, end;
};
__device__ inline Steps steps_of(int all) {
  const int part = part_of_k();
  if (all < split) return {part, part + 1};
  return {part * all / split, (part + 1) * all / split};
}

/// A wave of a worker: it has multiplied what is in a stage.
__device__ inline void release(u32 empty_barrier) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  if constexpr (multicast == 1) {
    if (lane == 0) wt::barrier_arrive(empty_barrier);
  } else {
    if (lane < multicast) wt::barrier_arrive_at(empty_barrier, lane);
  }
}

}  // namespace warpgroup
