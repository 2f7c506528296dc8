struct Params {
  const void* x;
  void* residual;
  const void* weight;
  void* y;
  wt::i64 x_row, residual_row, y_row;
  int m, n;
  int aligned;
  float eps;
};

template <int VEC>
__device__ void rmsnorm(const Params& p, float* scratch) {
  using T = wt::element<cfg::dtype>;
  const wt::i64 row = rows::row_of_thread();
  const int n = row < p.m ? p.n : 0;  // threads beyond the last row take part in the sums with an empty row
  const T* x = (const T*)p.x + row * p.x_row;
  T* residual = (T*)p.residual + row * p.residual_row;
  const T* weight = (const T*)p.weight;
  T* y = (T*)p.y + row * p.y_row;

  float squares[VEC] = {};
  rows::for_each<VEC>(0, n, [&](int col, auto width) {
    constexpr int W = decltype(width)::value;
    wt::vec<W> value = wt::load<W>(x + col);
    if constexpr (cfg::residual != 0) {
      const wt::vec<W> before = wt::load<W>(residual + col);
      for (int i = 0; i < W; ++i) value[i] = wt::to_float(wt::cast<T>(before[i] + value[i]));
      wt::store<W>(residual + col, value);
    }
    for (int i = 0; i < W; ++i) squares[i] = wt::fma(value[i], value[i], squares[i]);
  });
  float sum = 0.0f;
  for (int i = 0; i < VEC; ++i) sum += squares[i];
  sum = rows::sum(sum, scratch);

  const float factor = wt::rsqrt(sum / (float)p.n + p.eps);
  const T* normed = cfg::residual != 0 ? residual : x;
  rows::for_each<VEC>(0, n, [&](int col, auto width) {
    constexpr int W = decltype(width)::value;
    wt::vec<W> value = wt::load<W>(normed + col);
    const wt::vec<W> scale = wt::load<W>(weight + col);
    for (int i = 0; i < W; ++i) value[i] = wt::to_float(wt::cast<T>(value[i] * factor)) * scale[i];
    wt::store<W>(y + col, value);
  });
}

extern "C" __global__ __launch_bounds__(cfg::threads) void rmsnorm_main(Params p) {
  overlap::begin();
  __shared__ float scratch[rows::scratch_floats];
  if (p.aligned) {
    rmsnorm<cfg::vec>(p, scratch);
  } else {
    rmsnorm<1>(p, scratch);
  }
}
