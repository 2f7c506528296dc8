// One GEMM for each expert over the token-expert pairs that are sorted by expert.
//
// cfg::swiglu 1: out[s] = silu(x[order[s] / topk] Wgate^T) * (x[...] Wup^T), in sorted order. 0: out[order[s]] = x[s]
// W^T.
struct Params {
  const product::T* x;
  const product::T* w;
  const int* order;
  const int* offsets;
  product::T* out;
  float* partial;  // [parts, pairs, columns of all column parts]; null when k is not split
  wt::i64 x_row, w_row, w_batch, out_row;
  int pairs, experts, n, k;
  int k_part, parts;
  int slots;   // tiles of rows that the grid has
  int by_row;  // 1: slot s is a tile when sorted row s begins one; 0: expert e has the slots from offsets[e] / bm + e
               // on
  int aligned;
};

namespace {

constexpr int column_parts = cfg::swiglu + 1;

__device__ inline float finish(const float (&sums)[column_parts]) {
  if constexpr (cfg::swiglu != 0) {
    return grouped::swiglu(sums[0], sums[1]);
  } else {
    return sums[0];
  }
}

__device__ inline product::T* out_row(const Params& p, int s) {
  return p.out + (cfg::swiglu != 0 ? s : p.order[s]) * p.out_row;
}

struct Emit {
  const Params& p;
  grouped::Rows rows;
  int j0, part;
  template <int N>
  __device__ inline void operator()(int i, int j, const wt::vec<N> (&v)[column_parts]) const {
    const int s = rows.begin + i, col = j0 + j;
    if (s >= rows.end) return;
    const int count = wt::min(N, p.n - col);
    if (p.partial != nullptr) {
      float* out = p.partial + (static_cast<wt::i64>(part) * p.pairs + s) * (column_parts * p.n) + col;
      WT_UNROLL
      for (int c = 0; c < column_parts; ++c) {
        WT_UNROLL
        for (int x = 0; x < N; ++x) {
          if (x < count) out[c * p.n + x] = v[c][x];
        }
      }
      return;
    }
    product::T* out = out_row(p, s) + col;
    WT_UNROLL
    for (int x = 0; x < N; ++x) {
      float sums[column_parts];
      WT_UNROLL
      for (int c = 0; c < column_parts; ++c) sums[c] = v[c][x];
      if (x < count) out[x] = wt::cast<product::T>(finish(sums));
    }
  }
};

}  // namespace

extern "C" __global__ __launch_bounds__(cfg::threads) void grouped_gemm_main(Params p) {
  extern __shared__ char lds[];
  const int tiles_n = (p.n + product::bn - 1) / product::bn;
  const int id = static_cast<int>(blockIdx.x), part = static_cast<int>(blockIdx.y);
  // Neighbouring blocks share rows of X, or columns of one expert's W.
  const int slot = cfg::slots_first != 0 ? id % p.slots : id / tiles_n;
  const int j0 = (cfg::slots_first != 0 ? id / p.slots : id % tiles_n) * product::bn;
  const grouped::Rows rows = grouped::rows_of_slot(p.offsets, p.experts, p.by_row != 0, product::bm, slot);
  if (rows.begin >= rows.end) return;
  const product::T* const w = p.w + rows.expert * p.w_batch;
  const auto row_a = [&](int i) {
    const int s = wt::min(rows.begin + i, rows.end - 1);
    return p.x + (cfg::swiglu != 0 ? p.order[s] / cfg::topk : s) * p.x_row;
  };
  const auto row_b = [&](int c, int j) { return w + (c * p.n + wt::min(j0 + j, p.n - 1)) * p.w_row; };
  const product::Range k{part * p.k_part, wt::min(p.k, (part + 1) * p.k_part), p.aligned != 0};
  product::block_tile<column_parts, cfg::path>(row_a, row_b, rows.end - rows.begin, p.n - j0, k, lds,
                                               Emit{p, rows, j0, part});
}

extern "C" __global__ __launch_bounds__(256) void grouped_gemm_reduce(Params p) {
  constexpr int run = 8;  // neighbouring elements of a thread
  const wt::i64 size = static_cast<wt::i64>(p.pairs) * p.n;
  const wt::i64 first = (static_cast<wt::i64>(blockIdx.x) * 256 + threadIdx.x) * run;
  for (wt::i64 e = first; e < wt::min(size, first + run); ++e) {
    const int s = static_cast<int>(e / p.n), col = static_cast<int>(e % p.n);
    float sums[column_parts] = {};
    for (int part = 0; part < p.parts; ++part) {
      const float* from = p.partial + (static_cast<wt::i64>(part) * p.pairs + s) * (column_parts * p.n) + col;
      WT_UNROLL
      for (int c = 0; c < column_parts; ++c) sums[c] += from[c * p.n];
    }
    out_row(p, s)[col] = wt::cast<product::T>(finish(sums));
  }
}
