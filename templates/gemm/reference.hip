// The right answer of gemm and grouped_gemm on the device, in code too simple to be wrong: operands widened to float,
// their products summed in double in the order of k, as the host's reference does (templates/gemm/product.cpp), so that
// both agree to the bit. A block makes 64 x 64 outputs of one group (a batch of gemm, an expert), a thread 4 x 4 of
// them. No configuration is made of this: what it leaves is what they are compared with.
namespace reference {

using wt::i64;

constexpr int edge = 64, depth = 16, piece = 4, threads = 256;

struct Params {
  const void* x;
  const void* x_scale;
  const void* w;
  const void* w_scale;
  const int* order;    // of grouped_gemm; null: group g has the rows [g * rows, (g + 1) * rows)
  const int* offsets;  // row s of expert e: offsets[e] <= s < offsets[e + 1]
  void* out;
  i64 x_rows, rows, n, k;  // rows of X in all that have scales; of a group at most; columns of one part
  int x_type, w_type;      // 0 f32, 1 bf16, 2 fp8, 3 fp4
  int x_scaling, w_scaling;
  int out_type, swiglu, topk;
};

__device__ inline float element(const void* data, int type, i64 at) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  switch (type) {
    case 0:
      return static_cast<const float*>(data)[at];
    case 1:
      return wt::to_float(static_cast<const wt::bf16*>(data)[at]);
    case 2:
      return wt::soft::float_from_fp8(bytes[at]);
    default:
      return wt::soft::float_from_fp4(static_cast<wt::u32>(bytes[at / 2]) >> (at % 2 * 4));
  }
}

/// What element (row, col) of one operand is multiplied by: scaling 1 groups of 128 along k (of weights: blocks of
/// 128 x 128), 2 MX blocks of 32, 3 whole rows.
__device__ inline float scale(const void* scales, int scaling, bool weights, i64 rows, i64 k, i64 row, i64 col) {
  const auto* floats = static_cast<const float*>(scales);
  if (scaling == 2) return wt::float_from_e8m0(static_cast<const unsigned char*>(scales)[row * (k / 32) + col / 32]);
  if (scaling == 3) return floats[row];
  if (weights) return floats[row / 128 * ((k + 127) / 128) + col / 128];
  return floats[col / 128 * rows + row];
}

/// Of which row of X output row `s` is made, and where it is stored.
__device__ inline i64 source_row(const Params& p, i64 s) {
  if (p.order == nullptr) return s;
  return p.swiglu != 0 ? p.order[s] / p.topk : s;
}
__device__ inline i64 target_row(const Params& p, i64 s) {
  return p.order == nullptr || p.swiglu != 0 ? s : p.order[s];
}

struct Sums {
  double v[piece][piece];
};
struct Tile {
  i64 group, begin, rows, cols;  // first row, rows and columns that exist
  i64 first_column;              // of the group's weights
};

/// Thread (y, x) of 16 x 16 has rows y + 16 i and columns x + 16 j of the tile.
__device__ inline void multiply(const Params& p, const Tile& tile, i64 w_rows, double (*xs)[edge], double (*ws)[edge],
                                Sums& sums) {
  const int thread = static_cast<int>(threadIdx.x), y = thread / 16, x = thread % 16;
  const i64 scales_a_group = p.w_scaling == 1 ? (w_rows + 127) / 128 * ((p.k + 127) / 128) : w_rows;
  const void* w_scale = p.w_scaling == 2
                            ? static_cast<const void*>(static_cast<const unsigned char*>(p.w_scale) +
                                                       tile.group * w_rows * (p.k / 32))
                            : static_cast<const void*>(static_cast<const float*>(p.w_scale) +
                                                       (p.w_scaling == 0 ? 0 : tile.group * scales_a_group));
  WT_UNROLL
  for (int i = 0; i < piece; ++i) {
    WT_UNROLL
    for (int j = 0; j < piece; ++j) sums.v[i][j] = 0.0;
  }
  for (i64 k0 = 0; k0 < p.k; k0 += depth) {
    for (int at = thread; at < edge * depth; at += threads) {
      const int line = at / depth, d = at % depth;
      const i64 col = k0 + d;
      float a = 0.0f, b = 0.0f;
      if (col < p.k && line < tile.rows) {
        const i64 row = source_row(p, tile.begin + line);
        a = element(p.x, p.x_type, row * p.k + col);
        if (p.x_scaling != 0) a *= scale(p.x_scale, p.x_scaling, false, p.x_rows, p.k, row, col);
      }
      if (col < p.k && line < tile.cols) {
        const i64 row = tile.first_column + line;
        b = element(p.w, p.w_type, (tile.group * w_rows + row) * p.k + col);
        if (p.w_scaling != 0) b *= scale(w_scale, p.w_scaling, true, w_rows, p.k, row, col);
      }
      xs[d][line] = static_cast<double>(a);
      ws[d][line] = static_cast<double>(b);
    }
    __syncthreads();
    for (int d = 0; d < depth; ++d) {
      WT_UNROLL
      for (int i = 0; i < piece; ++i) {
        const double a = xs[d][y + 16 * i];
        WT_UNROLL
        for (int j = 0; j < piece; ++j) sums.v[i][j] += a * ws[d][x + 16 * j];
      }
    }
    __syncthreads();
  }
}

__device__ inline double exponential(double value) {
#if defined(__AMDGCN__) || defined(WT_CUDA)
  return ::exp(value);
#else
  return __builtin_exp(value);
#endif
}

}  // namespace reference

extern "C" __global__ __launch_bounds__(reference::threads) void reference_product(reference::Params p) {
  using namespace reference;
  __shared__ double xs[depth][edge];
  __shared__ double ws[depth][edge];
  const i64 group = static_cast<i64>(blockIdx.z), first_column = static_cast<i64>(blockIdx.x) * edge;
  const i64 begin = p.offsets != nullptr ? p.offsets[group] : group * p.rows;
  const i64 end = p.offsets != nullptr ? p.offsets[group + 1] : begin + p.rows;
  const i64 w_rows = p.swiglu != 0 ? 2 * p.n : p.n;
  const int thread = static_cast<int>(threadIdx.x), y = thread / 16, x = thread % 16;
  for (i64 row = begin + static_cast<i64>(blockIdx.y) * edge; row < end; row += static_cast<i64>(gridDim.y) * edge) {
    Tile tile{group, row, wt::min<i64>(edge, end - row), wt::min<i64>(edge, p.n - first_column), first_column};
    Sums sums;
    multiply(p, tile, w_rows, xs, ws, sums);
    if (p.swiglu != 0) {
      const Sums gate = sums;
      tile.first_column += p.n;
      multiply(p, tile, w_rows, xs, ws, sums);
      WT_UNROLL
      for (int i = 0; i < piece; ++i) {
        WT_UNROLL
        for (int j = 0; j < piece; ++j)
          sums.v[i][j] = gate.v[i][j] / (1.0 + exponential(-gate.v[i][j])) * sums.v[i][j];
      }
    }
    WT_UNROLL
    for (int i = 0; i < piece; ++i) {
      WT_UNROLL
      for (int j = 0; j < piece; ++j) {
        const int line = y + 16 * i, col = x + 16 * j;
        if (line >= tile.rows || col >= tile.cols) continue;
        const i64 at = target_row(p, row + line) * p.n + first_column + col;
        const float value = static_cast<float>(sums.v[i][j]);
        if (p.out_type == 0) {
          static_cast<float*>(p.out)[at] = value;
        } else {
          static_cast<wt::bf16*>(p.out)[at] = wt::bf16_from_float(value);
        }
      }
    }
  }
}
