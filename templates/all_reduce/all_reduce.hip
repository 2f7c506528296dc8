struct Params {
  const void* in[8];
  void* out;
  wt::i64 in_row[8];
  wt::i64 out_row;
  int m, n, ranks;
  int aligned;
};

template <int VEC>
__device__ void all_reduce(const Params& p) {
  using T = wt::element<cfg::dtype>;
  tile::for_each<VEC>(p.m, p.n, [&](wt::i64 row, int col, auto width) {
    constexpr int W = decltype(width)::value;
    wt::vec<W> sum = wt::load<W>((const T*)p.in[0] + row * p.in_row[0] + col);
    for (int rank = 1; rank < p.ranks; ++rank) {
      const wt::vec<W> part = wt::load<W>((const T*)p.in[rank] + row * p.in_row[rank] + col);
      for (int i = 0; i < W; ++i) sum[i] += part[i];
    }
    wt::store<W>((T*)p.out + row * p.out_row + col, sum);
  });
}

extern "C" __global__ __launch_bounds__(cfg::threads) void all_reduce_main(Params p) {
  overlap::begin();
  if (p.aligned) {
    all_reduce<cfg::vec>(p);
  } else {
    all_reduce<1>(p);
  }
}
