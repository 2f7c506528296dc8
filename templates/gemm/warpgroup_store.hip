// From a worker's sums to C, for path `warpgroup`. Columns are stored in runs of 32: a thread has 16 sums of them in
// two rows.
namespace warpgroup {

/// A thread's sums of 32 columns, and how many such runs of a tile belong together: with all their column parts.
constexpr int run_sums = 16, runs = mx ? width / 32 : run_w / 32, whole_tiles = mx ? tiles / column_parts : tiles;

/// Four lanes of a row exchange words: lane q gets word q of all four.
__device__ inline void transpose_quad(u32 (&v)[4]) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const auto exchange = [&](int a, int b, int mask) {
    const bool upper = (lane & mask) != 0;
    const u32 got = static_cast<u32>(wt::shfl_xor(static_cast<int>(upper ? v[a] : v[b]), mask));
    if (upper) {
      v[a] = got;
    } else {
      v[b] = got;
    }
  };
  exchange(0, 1, 1);
  exchange(2, 3, 1);
  exchange(0, 2, 2);
  exchange(1, 3, 2);
}

/// Row h (0: the thread's, 1: 8 below) of a run of 32 columns to `row`, of which `cols` exist. `whole`: rows begin at
/// multiples of 16 bytes.
template <class T>
__device__ inline void store_run(T* row, int cols, bool whole, const float (&sums)[run_sums], int h) {
  const int q = static_cast<int>(threadIdx.x % 4);
  if constexpr (sizeof(T) == 4) {
    WT_UNROLL
    for (int j = 0; j < 4; ++j) {
      const int col = j * 8 + q * 2;
      const float a = sums[j * 4 + h * 2], b = sums[j * 4 + h * 2 + 1];
      if (whole && col + 2 <= cols) {
        *reinterpret_cast<float2*>(row + col) = float2{a, b};
      } else {
        if (col < cols) row[col] = a;
        if (col + 1 < cols) row[col + 1] = b;
      }
    }
  } else {
    u32 v[4];
    WT_UNROLL
    for (int j = 0; j < 4; ++j) v[j] = wt::pack_bf16(sums[j * 4 + h * 2], sums[j * 4 + h * 2 + 1]);
    transpose_quad(v);
    const int col = q * 8;
    if (whole && col + 8 <= cols) {
      *reinterpret_cast<uint4*>(row + col) = uint4{v[0], v[1], v[2], v[3]};
    } else {
      for (int x = 0; x < 8; ++x) {
        if (col + x < cols) row[col + x] = {static_cast<unsigned short>(v[x / 2] >> (x % 2 * 16))};
      }
    }
  }
}

/// 16 rows of W (the thread's and 8 below) of 32 rows of X to C: to_row(x) is where row x of the 32 has the first of
/// the 16, or null. `cols` of the 16 exist.
template <class ToRow>
__device__ inline void store_run_across(const ToRow& to_row, int cols, bool whole, const float (&sums)[run_sums]) {
  const int lane = static_cast<int>(threadIdx.x % 32), q = lane % 4;
  WT_UNROLL
  for (int pair = 0; pair < 2; ++pair) {
    u32 v[4];
    WT_UNROLL
    for (int x = 0; x < 4; ++x) {
      const int at = (pair * 2 + x / 2) * 4 + x % 2 * 2;
      v[x] = wt::transpose_8x8(wt::pack_bf16(sums[at], sums[at + 1]));
    }
    transpose_quad(v);
    Out* const row = to_row((pair * 2 + q / 2) * 8 + lane / 4);
    const int col = q % 2 * 8;
    if (row == nullptr) continue;
    if (whole && col + 8 <= cols) {
      *reinterpret_cast<uint4*>(row + col) = uint4{v[0], v[1], v[2], v[3]};
    } else {
      for (int x = 0; x < 8; ++x) {
        if (col + x < cols)
          reinterpret_cast<unsigned short*>(row)[col + x] = static_cast<unsigned short>(v[x / 2] >> (x % 2 * 16));
      }
    }
  }
}

/// store(i, run, sums): the run of 32 columns `run` of 64 rows `i`, for all column parts, is complete. With split_k the
/// blocks of the cluster share the runs out among them.
template <class Store>
__device__ inline void finish(const Sums& sums, const Ring& ring, const Store& store) {
  const auto sum_of = [&](int i, int run, int which, int x) {
    return mx ? sums.v[which * whole_tiles + i][run * run_sums + x] : sums.v[i][(which * runs + run) * run_sums + x];
  };
  if constexpr (split == 1) {
    WT_UNROLL
    for (int i = 0; i < whole_tiles; ++i) {
      WT_UNROLL
      for (int run = 0; run < runs; ++run) {
        float v[column_parts][run_sums];
        WT_UNROLL
        for (int which = 0; which < column_parts; ++which) {
          WT_UNROLL
          for (int x = 0; x < run_sums; ++x) v[which][x] = sum_of(i, run, which, x);
        }
        store(i, run, v);
      }
    }
  } else {
    wt::barrier_of(1, workers * 128);  // no worker multiplies what is in the ring any more
    // Sums lie in LDS, in the ring's place, as [i][which][run][4][worker thread] of four floats.
    const auto at = [&](int i, int run, int which, int quarter) {
      const int chunk = ((i * column_parts + which) * runs + run) * 4 + quarter;
      return ring.stages_at + static_cast<u32>((chunk * workers * 128 + static_cast<int>(threadIdx.x)) * 16);
    };
    WT_UNROLL
    for (int i = 0; i < whole_tiles; ++i) {
      WT_UNROLL
      for (int which = 0; which < column_parts; ++which) {
        WT_UNROLL
        for (int x = 0; x < runs * run_sums; x += 4) {
          wt::chunk c;
          WT_UNROLL
          for (int y = 0; y < 4; ++y) c.w[y] = __float_as_uint(sum_of(i, x / run_sums, which, x % run_sums + y));
          wt::store_lds(at(i, x / run_sums, which, x % run_sums / 4), c);
        }
      }
    }
    wt::cluster_sync();
    for (int job = part_of_k(); job < whole_tiles * runs; job += split) {
      const int i = job / runs, run = job % runs;
      float v[column_parts][run_sums] = {};
      WT_UNROLL
      for (int which = 0; which < column_parts; ++which) {
#pragma unroll 2
          for (int block = 0; block < split; ++block) {
          WT_UNROLL
          for (int quarter = 0; quarter < 4; ++quarter) {
            const wt::chunk c = wt::load_lds_of(at(i, run, which, quarter), block);
            WT_UNROLL
            for (int y = 0; y < 4; ++y) v[which][quarter * 4 + y] += __uint_as_float(c.w[y]);
          }
        }
      }
      store(i, run, v);
    }
    wt::cluster_sync();
  }
}

/// The copying warpgroup, when its copies are done: the barriers of finish() are the whole cluster's.
__device__ inline void finish_copying() {
  if constexpr (split > 1) {
    __syncwarp();
    wt::cluster_sync();
    wt::cluster_sync();
  } else if constexpr (multicast > 1) {
    __syncwarp();
    wt::cluster_sync();
  }
}
/// Workers at the end of a kernel: other blocks may still arrive at this one's barriers.
__device__ inline void finish_working() {
  if constexpr (split == 1 && multicast > 1) {
    __syncwarp();
    wt::cluster_sync();
  }
}

}  // namespace warpgroup
