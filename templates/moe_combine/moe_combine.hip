struct Params {
  const void* y;
  const float* weights;
  void* out;
  wt::i64 y_row, weights_row, out_row;
  int m, topk, n;
  int aligned;
};

template <int VEC>
__device__ void moe_combine(const Params& p) {
  using T = wt::element<cfg::dtype>;
  tile::for_each<VEC>(p.m, p.n, [&](wt::i64 row, int col, auto width) {
    constexpr int W = decltype(width)::value;
    wt::vec<W> sum;
    for (int i = 0; i < W; ++i) sum[i] = 0.0f;
    for (int j = 0; j < p.topk; ++j) {
      const float weight = p.weights[row * p.weights_row + j];
      const wt::vec<W> y = wt::load<W>((const T*)p.y + (row * p.topk + j) * p.y_row + col);
      for (int i = 0; i < W; ++i) sum[i] = wt::fma(weight, y[i], sum[i]);
    }
    wt::store<W>((T*)p.out + row * p.out_row + col, sum);
  });
}

extern "C" __global__ __launch_bounds__(cfg::threads) void moe_combine_main(Params p) {
  overlap::begin();
  if (p.aligned) {
    moe_combine<cfg::vec>(p);
  } else {
    moe_combine<1>(p);
  }
}
