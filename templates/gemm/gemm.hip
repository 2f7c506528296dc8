// C[b] = A[b] B[b]^T. One block makes one bm x bn tile of one part of k; with more than one part the sums go to the
// workspace [parts, batch, m, n] and gemm_reduce adds them in order, so that the result does not depend on timing.
struct Params {
  const product::T* a;
  const product::T* b;
  wt::element<cfg::out_dtype>* c;
  float* partial;  // null when k is not split
  wt::i64 a_row, a_batch, b_row, b_batch, c_row, c_batch;
  int batch, m, n, k;
  int k_part;  // k elements of one part
  int parts;
  int group_m;  // tile rows that are walked together, so that their B tiles are still in the cache
  int aligned;  // every row of A and B starts at a multiple of vec elements
};

struct Emit {
  const Params& p;
  int i0, j0, batch, part;
  template <int N>
  __device__ inline void operator()(int i, int j, const wt::vec<N> (&v)[1]) const {
    const int row = i0 + i, col = j0 + j;
    if (row >= p.m) return;
    const int count = wt::min(N, p.n - col);
    if (p.partial != nullptr) {
      float* out = p.partial + ((static_cast<wt::i64>(part) * p.batch + batch) * p.m + row) * p.n + col;
      write(out, v[0], count);
    } else {
      write(p.c + batch * p.c_batch + row * p.c_row + col, v[0], count);
    }
  }
  template <int N, class Out>
  __device__ static inline void write(Out* out, const wt::vec<N>& v, int count) {
    if (count == N) {
      WT_UNROLL
      for (int x = 0; x < N; ++x) out[x] = wt::cast<Out>(v[x]);
    } else {
      WT_UNROLL_ON_GPU
      for (int x = 0; x < N; ++x) {
        if (x < count) out[x] = wt::cast<Out>(v[x]);
      }
    }
  }
};

extern "C" __global__ __launch_bounds__(cfg::threads) void gemm_main(Params p) {
  extern __shared__ char lds[];
  const int tiles_m = (p.m + product::bm - 1) / product::bm, tiles_n = (p.n + product::bn - 1) / product::bn;
  const int id = static_cast<int>(blockIdx.x);
  const int group = id / (p.group_m * tiles_n);
  const int group_rows = wt::min(p.group_m, tiles_m - group * p.group_m);
  const int in_group = id - group * p.group_m * tiles_n;
  const int i0 = (group * p.group_m + in_group % group_rows) * product::bm;
  const int j0 = in_group / group_rows * product::bn;
  const int part = static_cast<int>(blockIdx.y), batch = static_cast<int>(blockIdx.z);
  const product::T* const a = p.a + batch * p.a_batch;
  const product::T* const b = p.b + batch * p.b_batch;
  const product::Range k{part * p.k_part, wt::min(p.k, (part + 1) * p.k_part), p.aligned != 0};
  product::block_tile<1, cfg::path>([&](int i) { return a + wt::min(i0 + i, p.m - 1) * p.a_row; },
                                    [&](int, int j) { return b + wt::min(j0 + j, p.n - 1) * p.b_row; }, p.m - i0,
                                    p.n - j0, k, lds, Emit{p, i0, j0, batch, part});
}

extern "C" __global__ __launch_bounds__(256) void gemm_reduce(Params p) {
  constexpr int run = 8;  // neighbouring elements of a thread
  const wt::i64 size = static_cast<wt::i64>(p.m) * p.n;
  const int batch = static_cast<int>(blockIdx.z);
  const wt::i64 first = (static_cast<wt::i64>(blockIdx.x) * 256 + threadIdx.x) * run;
  for (wt::i64 e = first; e < wt::min(size, first + run); ++e) {
    float sum = 0;
    for (int part = 0; part < p.parts; ++part) sum += p.partial[(part * p.batch + batch) * size + e];
    p.c[batch * p.c_batch + e / p.n * p.c_row + e % p.n] = wt::cast<wt::element<cfg::out_dtype>>(sum);
  }
}
