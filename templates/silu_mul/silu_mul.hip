struct Params {
  const void* x;
  void* y;
  wt::i64 x_row, y_row;
  int m, n;
  int aligned;
};

template <int VEC>
__device__ void silu_mul(const Params& p) {
  using T = wt::element<cfg::dtype>;
  tile::for_each<VEC>(p.m, p.n, [&](wt::i64 row, int col, auto width) {
    constexpr int W = decltype(width)::value;
    const T* x = (const T*)p.x + row * p.x_row + col;
    const wt::vec<W> gate = wt::load<W>(x);
    const wt::vec<W> up = wt::load<W>(x + p.n);
    wt::vec<W> y;
    for (int i = 0; i < W; ++i) y[i] = gate[i] / (1.0f + wt::exp(-gate[i])) * up[i];
    wt::store<W>((T*)p.y + row * p.y_row + col, y);
  });
}

extern "C" __global__ __launch_bounds__(cfg::threads) void silu_mul_main(Params p) {
  overlap::begin();
  if (p.aligned) {
    silu_mul<cfg::vec>(p);
  } else {
    silu_mul<1>(p);
  }
}
