// C = X W^T on matrix instructions (paths tile and skinny of the gemm operator).
//
// k is walked in stages of bk. With split_k > 1 every part of k has blocks of its own, with split_k = 0 (stream-K) the
// stages of all tiles are dealt out evenly to a fixed number of blocks; sums that do not cover all of k go to the
// workspace, and gemm_reduce adds them in order, so that the result does not depend on timing.
struct Params {
  const void* x;
  const void* w;
  const void* scale_x;
  const void* scale_w;
  gemm::Out* c;
  float* partial;  // split_k > 1: [parts, m, n]; stream-K: two tiles for each block
  wt::i64 x_stride, w_stride,
      c_stride;              // bytes of a row of X; bytes of a row of W (shuffled: of 16 rows); elements of a row of C
  wt::i64 x_bytes, w_bytes;  // of the whole operands
  wt::i64 x_batch, w_batch, c_batch;  // bytes, bytes, elements
  wt::i64 scale_x_bytes, scale_w_bytes;
  int m, n;
  int x_chunks, w_chunks;  // 16-byte chunks of a row
  int scale_x_stride, scale_w_stride, scale_blocks;
  int stages_k;  // stages of all of k
  int full;      // stages that lie wholly within k
  int part;      // stages of one part
  int parts;     // of k (stream-K: blocks)
  int in_runs;   // rows of C begin at multiples of four elements and 16 bytes
};

namespace gemm {

/// Which tile block `id` of `count` makes. With cfg::xcd, blocks that follow each other on one XCD (the hardware deals
/// blocks out to the eight XCDs in turn) get neighbouring tiles; tiles are walked in groups of cfg::group_m rows, so
/// that their tiles of W are still in L2.
__device__ inline Place place_of(int id, int count, int m, int n) {
  if constexpr (cfg::xcd == 1) {
    constexpr int xcds = 8;
    const int each = count / xcds, rest = count % xcds, xcd = id % xcds;
    id = xcd * each + wt::min(xcd, rest) + id / xcds;
  }
  const int tiles_down = (m + bm - 1) / bm, tiles_across = (n + bn - 1) / bn;
  const int group = id / (cfg::group_m * tiles_across);
  const int rows = wt::min(cfg::group_m, tiles_down - group * cfg::group_m);
  const int in_group = id - group * cfg::group_m * tiles_across;
  return {(group * cfg::group_m + in_group % rows) * bm, in_group / rows * bn};
}

/// Where sums go that do not cover all of k. `first` is the tile's [0][0], or null when the sums are the result.
struct Partial {
  float* first;
  i64 stride;
  int rows, cols;
  bool in_runs;
};

template <class T>
__device__ inline Target<T> target_of(T* first, i64 stride, int rows, int cols, bool in_runs) {
  return {wt::window(first, ((rows - 1) * stride + cols) * static_cast<i64>(sizeof(T))), cols, in_runs};
}

/// Stages [begin, end) of the tile at `at`.
__device__ inline void make_tile(const Params& p, Place at, int begin, int end, const Partial& partial, int batch,
                                 char* lds) {
  const int lane = wt::lane();
  const char* const x = static_cast<const char*>(p.x) + batch * p.x_batch + at.i0 * p.x_stride;
  const char* const w = static_cast<const char*>(p.w) + batch * p.w_batch;
  const i64 w_skip = LayoutW::shuffled ? at.j0 / 16 * p.w_stride : at.j0 * p.w_stride;
  const Source source_x{wt::window(x, p.x_bytes - at.i0 * p.x_stride), static_cast<u32>(p.x_stride),
                        static_cast<u32>(p.x_chunks)};
  const Source source_w{wt::window(w + w_skip, p.w_bytes - w_skip), static_cast<u32>(p.w_stride),
                        static_cast<u32>(p.w_chunks)};
  const int rows = p.m - at.i0, cols = p.n - at.j0;
  // Rows that do not exist repeat the last one; what they give is not stored.
  const int last_w = LayoutW::shuffled ? (cols + 15) / 16 * 16 - 1 : cols - 1;
  const auto row_x = [&](int row) { return wt::min(row, rows - 1); };
  const auto row_w = [&](int row) { return wt::min(row, last_w); };
  const ScaleSources scale_sources{wt::window(p.scale_x, p.scale_x_bytes), wt::window(p.scale_w, p.scale_w_bytes),
                                   p.scale_x_stride, p.scale_w_stride, p.scale_blocks};
  const auto scale_row_x = [&](int row) { return at.i0 + row_x(row); };
  const auto scale_row_w = [&](int row) { return at.j0 + wt::min(row, cols - 1); };

  Sums<tiles_m, tiles_n> sums;
  if (!sum_stages(sums, source_x, source_w, scale_sources, row_x, row_w, scale_row_x, scale_row_w, begin, end, p.full,
                  lds))
    return;

  const Place place = wave_place();
  if constexpr (row_scale_x || row_scale_w) {
    scale_rows(
        sums, [&](int row) { return row_scale_x ? static_cast<const float*>(p.scale_x)[scale_row_x(row)] : 1.0f; },
        [&](int col) { return row_scale_w ? static_cast<const float*>(p.scale_w)[scale_row_w(col)] : 1.0f; }, place,
        lane);
  }
  if (partial.first != nullptr) {
    const auto row_at = [&](int row) {
      return row < partial.rows ? static_cast<u32>(row * partial.stride * 4) : wt::outside;
    };
    store_runs(sums, target_of(partial.first, partial.stride, partial.rows, partial.cols, partial.in_runs), row_at,
               place, lane);
    return;
  }
  const Target<Out> target =
      target_of(p.c + batch * p.c_batch + at.i0 * p.c_stride + at.j0, p.c_stride, rows, cols, p.in_runs != 0);
  const auto row_at = [&](int row) {
    return row < rows ? static_cast<u32>(row * p.c_stride * static_cast<i64>(sizeof(Out))) : wt::outside;
  };
  if constexpr (cfg::epilogue == 1) {
    __syncthreads();  // all waves have read the last stage
    store_rows(sums, target, row_at, place, lane,
               reinterpret_cast<Out*>(lds) + wt::wave() * tile * (wave_n + turn_pad));
  } else {
    store_runs(sums, target, row_at, place, lane);
  }
}

/// First stage, counted over all tiles, of stream-K block `block`.
__device__ inline int stream_begin(const Params& p, int tiles, int block) {
  return static_cast<int>(static_cast<i64>(tiles) * p.stages_k * block / p.parts);
}

__device__ inline int tiles_of(const Params& p) { return (p.m + bm - 1) / bm * ((p.n + bn - 1) / bn); }

}  // namespace gemm

extern "C" __global__ __launch_bounds__(cfg::threads) void gemm_main(Params p) {
  __shared__ alignas(16) char lds[gemm::lds_bytes];
  using namespace gemm;
  if constexpr (cfg::split_k == 0) {
    const int tiles = tiles_of(p), block = static_cast<int>(blockIdx.x);
    const int begin = stream_begin(p, tiles, block), end = stream_begin(p, tiles, block + 1);
    for (int at = begin; at < end;) {
      const int tile_id = at / p.stages_k, first = tile_id * p.stages_k;
      const int stop = wt::min(end, first + p.stages_k);
      const bool whole = at == first && stop == first + p.stages_k;
      float* const slab = p.partial + (static_cast<i64>(block) * 2 + (at == begin ? 0 : 1)) * (bm * bn);
      make_tile(p, place_of(tile_id, tiles, p.m, p.n), at - first, stop - first,
                Partial{whole ? nullptr : slab, bn, bm, bn, true}, 0, lds);
      at = stop;
      __syncthreads();
    }
  } else {
    const Place at = place_of(static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x), p.m, p.n);
    const int part = static_cast<int>(blockIdx.y), batch = static_cast<int>(blockIdx.z);
    Partial partial{nullptr, p.n, p.m - at.i0, p.n - at.j0, p.n % 4 == 0};
    if constexpr (cfg::split_k > 1) {
      partial.first = p.partial + ((static_cast<i64>(part) * gridDim.z + batch) * p.m + at.i0) * p.n + at.j0;
    }
    make_tile(p, at, part * p.part, wt::min(p.stages_k, (part + 1) * p.part), partial, batch, lds);
  }
}

extern "C" __global__ __launch_bounds__(256) void gemm_reduce(Params p) {
  using namespace gemm;
  if constexpr (cfg::split_k == 0) {
    // One block a tile: the blocks that shared its stages follow each other.
    const int tiles = tiles_of(p), tile_id = static_cast<int>(blockIdx.x);
    const int begin = tile_id * p.stages_k, end = begin + p.stages_k;
    const auto owner = [&](int stage) {  // last block that begins at or before `stage`
      int block = static_cast<int>(static_cast<i64>(stage) * p.parts / (static_cast<i64>(tiles) * p.stages_k));
      while (block + 1 < p.parts && stream_begin(p, tiles, block + 1) <= stage) ++block;
      while (stream_begin(p, tiles, block) > stage) --block;
      return block;
    };
    const int first = owner(begin), last = owner(end - 1);
    if (first == last) return;  // one block had all of it and wrote C
    const Place at = place_of(tile_id, tiles, p.m, p.n);
    for (int e = static_cast<int>(threadIdx.x); e < bm * bn; e += 256) {
      const int row = at.i0 + e / bn, col = at.j0 + e % bn;
      if (row >= p.m || col >= p.n) continue;
      float sum = 0;
      for (int block = first; block <= last; ++block) {
        const int from = stream_begin(p, tiles, block);
        if (from == stream_begin(p, tiles, block + 1)) continue;  // a block without stages
        sum += p.partial[(static_cast<i64>(block) * 2 + (from >= begin                  ? 0
                                                         : from / p.stages_k == tile_id ? 0
                                                                                        : 1)) *
                             (bm * bn) +
                         e];
      }
      p.c[row * p.c_stride + col] = wt::cast<Out>(sum);
    }
  } else {
    constexpr int run = 8;  // neighbouring elements of a thread
    const i64 size = static_cast<i64>(p.m) * p.n;
    const int batch = static_cast<int>(blockIdx.z), batches = static_cast<int>(gridDim.z);
    const i64 begin = (static_cast<i64>(blockIdx.x) * 256 + threadIdx.x) * run;
    for (i64 e = begin; e < wt::min(size, begin + run); ++e) {
      float sum = 0;
      for (int part = 0; part < p.parts; ++part)
        sum += p.partial[(static_cast<i64>(part) * batches + batch) * size + e];
      p.c[batch * p.c_batch + e / p.n * p.c_stride + e % p.n] = wt::cast<Out>(sum);
    }
  }
}
