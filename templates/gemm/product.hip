// One block's tile of C = A B^T, in five ways; shared by gemm and grouped_gemm. Rows of A and B have contiguous k.
//
// cfg: dtype; bm, bn (block tile), bk (k step), tm, tn (tile of one worker), vec (elements of one memory access), path,
// threads. Powers of two; templates/gemm/product.cpp has the constraints between them. A worker is a thread (paths 0,
// 1), a wave (2, 3) or half a wave (4). Columns come in PARTS (gate and up of SwiGLU): every worker holds the same tile
// of each part.
namespace product {

using T = wt::element<cfg::dtype>;

constexpr int path_direct = 0;         // thread: dot products along k, straight from memory, no LDS
constexpr int path_staged = 1;         // thread: outer products from LDS tiles, transposed and widened to float
constexpr int path_matrix = 2;         // wave: matrix instructions on LDS tiles
constexpr int path_matrix_direct = 3;  // wave: matrix instructions on fragments straight from memory
constexpr int path_shared_k = 4;       // 32 lanes: each takes its share of k (few rows, bound by memory)

constexpr int bm = cfg::bm, bn = cfg::bn, bk = cfg::bk, tm = cfg::tm, tn = cfg::tn, vec = cfg::vec;
constexpr int workers_n = bn / tn;

// Where the k loop runs and whether rows may be read in whole vectors.
struct Range {
  int begin, end;
  bool aligned;
};

// N elements at p as floats, of which `left` exist. Unaligned rows are read without the promise of alignment.
template <int N>
__device__ inline wt::vec<N> load_some(const T* p, int left, bool aligned) {
  if (aligned && left >= N) return wt::load<N>(p);
  alignas(N * sizeof(T)) T raw[N] = {};
  if (left >= N) {
    __builtin_memcpy(raw, p, sizeof(raw));
  } else {
    WT_UNROLL_ON_GPU
    for (int i = 0; i < N; ++i) {
      if (i < left) raw[i] = p[i];
    }
  }
  return wt::load<N>(raw);
}

template <int N>
struct alignas(N * sizeof(T)) Raw {
  T e[N];
};

template <int N>
__device__ inline Raw<N> load_raw(const T* p, int left, bool aligned) {
  if (aligned && left >= N) return *reinterpret_cast<const Raw<N>*>(p);
  Raw<N> v;
  WT_UNROLL
  for (int i = 0; i < N; ++i) v.e[i] = i < left ? p[i] : T{};
  return v;
}

// Paths 0 and 4: every lane walks its share of k; LANES lanes of a worker are summed at the end.

template <int PARTS, int LANES, class RowA, class RowB>
__device__ inline void dot_loop(wt::vec<vec> (&acc)[PARTS][tm][tn], const RowA& row_a, const RowB& row_b, int i0,
                                int j0, Range k, int lane) {
  const T* a[tm];
  const T* b[PARTS][tn];
  WT_UNROLL
  for (int i = 0; i < tm; ++i) a[i] = row_a(i0 + i);
  WT_UNROLL
  for (int p = 0; p < PARTS; ++p) {
    WT_UNROLL
    for (int j = 0; j < tn; ++j) b[p][j] = row_b(p, j0 + j);
  }
  const auto multiply = [&](const wt::vec<vec>(&av)[tm], const auto& load_b) {
    WT_UNROLL
    for (int p = 0; p < PARTS; ++p) {
      WT_UNROLL
      for (int j = 0; j < tn; ++j) {
        const wt::vec<vec> bv = load_b(p, j);
        WT_UNROLL
        for (int i = 0; i < tm; ++i) acc[p][i][j] = wt::fma(av[i], bv, acc[p][i][j]);
      }
    }
  };
  constexpr int stride = LANES * vec;
  int k0 = k.begin;  // the same for all lanes of a worker
  if (k.aligned) {
    for (; k0 + bk <= k.end; k0 += bk) {
      WT_UNROLL
      for (int u = 0; u < bk; u += stride) {
        const int at = k0 + u + lane * vec;
        wt::vec<vec> av[tm];
        WT_UNROLL
        for (int i = 0; i < tm; ++i) av[i] = wt::load<vec>(a[i] + at);
        multiply(av, [&](int p, int j) { return wt::load<vec>(b[p][j] + at); });
      }
    }
  }
  // The rest of k, and all of it for unaligned rows. Loads in loops that stay loops: this code is large otherwise.
  for (int at = k0 + lane * vec; at < k.end; at += stride) {
    wt::vec<vec> av[tm], bv[PARTS * tn];
    WT_UNROLL_ON_GPU
    for (int i = 0; i < tm; ++i) av[i] = load_some<vec>(a[i] + at, k.end - at, false);
    WT_UNROLL_ON_GPU
    for (int j = 0; j < PARTS * tn; ++j) bv[j] = load_some<vec>(b[j / tn][j % tn] + at, k.end - at, false);
    multiply(av, [&](int p, int j) { return bv[p * tn + j]; });
  }
}

template <int PARTS, int LANES, class RowA, class RowB, class Emit>
__device__ inline void dot(const RowA& row_a, const RowB& row_b, int rows, int cols, Range k, const Emit& emit) {
  const int worker = static_cast<int>(threadIdx.x) / LANES;
  const int lane = static_cast<int>(threadIdx.x) % LANES;
  const int i0 = worker / workers_n * tm;
  const int j0 = worker % workers_n * tn;
  if (i0 >= rows || j0 >= cols) return;
  wt::vec<vec> acc[PARTS][tm][tn] = {};
  dot_loop<PARTS, LANES>(acc, row_a, row_b, i0, j0, k, lane);
  WT_UNROLL
  for (int i = 0; i < tm; ++i) {
    wt::vec<tn> out[PARTS];
    WT_UNROLL
    for (int p = 0; p < PARTS; ++p) {
      WT_UNROLL
      for (int j = 0; j < tn; ++j) {
        float sum = wt::sum(acc[p][i][j]);
        for (int mask = LANES / 2; mask > 0; mask /= 2) sum += wt::shfl_xor(sum, mask);
        out[p][j] = sum;
      }
    }
    if (lane == 0) emit(i0 + i, j0, out);
  }
}

// Path 1: float tiles in LDS, k-major, so that a thread reads its columns as vectors.

template <int PARTS, class RowA, class RowB, class Emit>
__device__ inline void staged(const RowA& row_a, const RowB& row_b, Range k, float* lds, const Emit& emit) {
  constexpr int width = tn < vec ? tn : vec;
  constexpr int stride_a = bm + vec, stride_b = bn + vec;  // the pad spreads a k column over LDS banks
  float* const tile_a = lds;
  float* const tile_b = lds + bk * stride_a;
  const int t = static_cast<int>(threadIdx.x);
  const int i0 = t / workers_n * tm;
  const int j0 = t % workers_n * tn;
  wt::vec<width> acc[PARTS][tm][tn / width] = {};
  constexpr int chunks = bk / vec;
  for (int k0 = k.begin; k0 < k.end; k0 += bk) {
    for (int c = t; c < (bm + PARTS * bn) * chunks; c += cfg::threads) {
      const int row = c / chunks, at = c % chunks * vec;
      const int col = row - bm;
      const T* source = row < bm ? row_a(row) : row_b(col / bn, col % bn);
      float* target = row < bm ? tile_a + row : tile_b + col / bn * bk * stride_b + col % bn;
      const int stride = row < bm ? stride_a : stride_b;
      const wt::vec<vec> v = load_some<vec>(source + k0 + at, k.end - k0 - at, k.aligned);
      WT_UNROLL
      for (int x = 0; x < vec; ++x) target[(at + x) * stride] = v[x];
    }
    __syncthreads();
    for (int kk = 0; kk < bk; ++kk) {
      float a[tm];
      WT_UNROLL
      for (int i = 0; i < tm; ++i) a[i] = tile_a[kk * stride_a + i0 + i];
      WT_UNROLL
      for (int p = 0; p < PARTS; ++p) {
        WT_UNROLL
        for (int q = 0; q < tn / width; ++q) {
          const wt::vec<width> b = wt::load<width>(tile_b + (p * bk + kk) * stride_b + j0 + q * width);
          WT_UNROLL
          for (int i = 0; i < tm; ++i) acc[p][i][q] = wt::fma(a[i], b, acc[p][i][q]);
        }
      }
    }
    __syncthreads();
  }
  WT_UNROLL
  for (int i = 0; i < tm; ++i) {
    WT_UNROLL
    for (int q = 0; q < tn / width; ++q) {
      wt::vec<width> out[PARTS];
      WT_UNROLL
      for (int p = 0; p < PARTS; ++p) out[p] = acc[p][i][q];
      emit(i0 + i, j0 + q * width, out);
    }
  }
}

// Paths 2 and 3: 16 x 16 matrix tiles. The order of k within a step does not matter as long as A and B agree, so a lane
// takes RUN neighbouring elements at once (one wide access) and feeds them to several instructions.

template <int PARTS, class Emit>
struct Matrix {
  using Mma = wt::mma16<T>;
  static constexpr int tiles_m = tm < 16 ? 1 : tm / 16, tiles_n = tn < 16 ? 1 : tn / 16;
  static constexpr int per_lane = Mma::k / 4;
  typename Mma::acc acc[PARTS][tiles_m][tiles_n] = {};

  template <int RUN>
  __device__ inline void multiply(const Raw<RUN> (&a)[tiles_m], const Raw<RUN> (&b)[PARTS][tiles_n]) {
    WT_UNROLL
    for (int x = 0; x < RUN; x += per_lane) {
      typename Mma::ab fa[tiles_m];
      WT_UNROLL
      for (int i = 0; i < tiles_m; ++i) __builtin_memcpy(&fa[i], &a[i].e[x], sizeof(fa[i]));
      WT_UNROLL
      for (int p = 0; p < PARTS; ++p) {
        WT_UNROLL
        for (int j = 0; j < tiles_n; ++j) {
          typename Mma::ab fb;
          __builtin_memcpy(&fb, &b[p][j].e[x], sizeof(fb));
          WT_UNROLL
          for (int i = 0; i < tiles_m; ++i) acc[p][i][j] = Mma::run(fa[i], fb, acc[p][i][j]);
        }
      }
    }
  }

  __device__ inline void write(int i0, int j0, int lane, const Emit& emit) const {
    WT_UNROLL
    for (int i = 0; i < tiles_m; ++i) {
      WT_UNROLL
      for (int j = 0; j < tiles_n; ++j) {
        WT_UNROLL
        for (int x = 0; x < 4; ++x) {
          wt::vec<1> out[PARTS];
          WT_UNROLL
          for (int p = 0; p < PARTS; ++p) out[p][0] = acc[p][i][j][x];
          emit(i0 + i * 16 + lane / 16 * 4 + x, j0 + j * 16 + lane % 16, out);
        }
      }
    }
  }
};

template <int PARTS, class RowA, class RowB, class Emit>
__device__ inline void matrix(const RowA& row_a, const RowB& row_b, Range k, T* lds, const Emit& emit) {
  constexpr int run = 16 / sizeof(T);  // one 16-byte LDS read
  constexpr int stride = bk + run;     // the pad spreads rows over banks and keeps 16-byte alignment
  constexpr int access = vec < run ? vec : run;
  const int t = static_cast<int>(threadIdx.x);
  const int worker = t / wt::wave_size, lane = t % wt::wave_size;
  const int i0 = worker / workers_n * tm, j0 = worker % workers_n * tn;
  Matrix<PARTS, Emit> sums;
  constexpr int chunks = bk / access;
  for (int k0 = k.begin; k0 < k.end; k0 += bk) {
    for (int c = t; c < (bm + PARTS * bn) * chunks; c += cfg::threads) {
      const int row = c / chunks, at = c % chunks * access;
      const T* source = row < bm ? row_a(row) : row_b((row - bm) / bn, (row - bm) % bn);
      *reinterpret_cast<Raw<access>*>(lds + row * stride + at) =
          load_raw<access>(source + k0 + at, k.end - k0 - at, k.aligned);
    }
    __syncthreads();
    WT_UNROLL
    for (int kk = 0; kk < bk; kk += 4 * run) {
      const T* at = lds + lane % 16 * stride + kk + lane / 16 * run;
      Raw<run> a[sums.tiles_m], b[PARTS][sums.tiles_n];
      WT_UNROLL
      for (int i = 0; i < sums.tiles_m; ++i) {
        a[i] = *reinterpret_cast<const Raw<run>*>(at + (i0 + i * 16) * stride);
      }
      WT_UNROLL
      for (int p = 0; p < PARTS; ++p) {
        WT_UNROLL
        for (int j = 0; j < sums.tiles_n; ++j) {
          b[p][j] = *reinterpret_cast<const Raw<run>*>(at + (bm + p * bn + j0 + j * 16) * stride);
        }
      }
      sums.multiply(a, b);
    }
    __syncthreads();
  }
  sums.write(i0, j0, lane, emit);
}

template <int PARTS, class RowA, class RowB, class Emit>
__device__ inline void matrix_direct(const RowA& row_a, const RowB& row_b, int rows, int cols, Range k,
                                     const Emit& emit) {
  const int worker = static_cast<int>(threadIdx.x) / wt::wave_size;
  const int lane = static_cast<int>(threadIdx.x) % wt::wave_size;
  const int i0 = worker / workers_n * tm, j0 = worker % workers_n * tn;
  if (i0 >= rows || j0 >= cols) return;  // the same for the whole wave
  Matrix<PARTS, Emit> sums;
  const T* a[sums.tiles_m];
  const T* b[PARTS][sums.tiles_n];
  WT_UNROLL
  for (int i = 0; i < sums.tiles_m; ++i) a[i] = row_a(i0 + i * 16 + lane % 16);
  WT_UNROLL
  for (int p = 0; p < PARTS; ++p) {
    WT_UNROLL
    for (int j = 0; j < sums.tiles_n; ++j) b[p][j] = row_b(p, j0 + j * 16 + lane % 16);
  }
  const int first = lane / 16 * vec;
  const auto step = [&](int k0) {
    const int at = k0 + first, left = k.end - at;
    Raw<vec> fa[sums.tiles_m], fb[PARTS][sums.tiles_n];
    WT_UNROLL
    for (int i = 0; i < sums.tiles_m; ++i) fa[i] = load_raw<vec>(a[i] + at, left, k.aligned);
    WT_UNROLL
    for (int p = 0; p < PARTS; ++p) {
      WT_UNROLL
      for (int j = 0; j < sums.tiles_n; ++j) fb[p][j] = load_raw<vec>(b[p][j] + at, left, k.aligned);
    }
    sums.multiply(fa, fb);
  };
  int k0 = k.begin;
  for (; k0 + bk <= k.end; k0 += bk) {
    WT_UNROLL
    for (int u = 0; u < bk; u += 4 * vec) step(k0 + u);
  }
  for (; k0 < k.end; k0 += 4 * vec) step(k0);
  sums.write(i0, j0, lane, emit);
}

// The block's tile. row_a(i) and row_b(part, j) give the start (k = 0) of a row of the tile, always readable memory,
// also for rows past `rows` and columns past `cols`; emit(i, j, wt::vec<N> (&)[PARTS]) takes N neighbouring columns of
// row i and drops what lies outside.
template <int PARTS, int PATH, class RowA, class RowB, class Emit>
__device__ inline void block_tile(const RowA& row_a, const RowB& row_b, int rows, int cols, Range k, char* lds,
                                  const Emit& emit) {
  if constexpr (PATH == path_direct) {
    dot<PARTS, 1>(row_a, row_b, rows, cols, k, emit);
  } else if constexpr (PATH == path_shared_k) {
    dot<PARTS, 32>(row_a, row_b, rows, cols, k, emit);
  } else if constexpr (PATH == path_staged) {
    staged<PARTS>(row_a, row_b, k, reinterpret_cast<float*>(lds), emit);
  } else if constexpr (PATH == path_matrix) {
    matrix<PARTS>(row_a, row_b, k, reinterpret_cast<T*>(lds), emit);
  } else {
    static_assert(PATH == path_matrix_direct);
    matrix_direct<PARTS>(row_a, row_b, rows, cols, k, emit);
  }
}

}  // namespace product
