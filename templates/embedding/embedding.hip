struct Params {
  const int* ids;
  const void* table;
  void* y;
  wt::i64 table_row, y_row;
  int m, n, rows;
  int aligned;
};

template <int VEC>
__device__ void embedding(const Params& p) {
  using T = wt::element<cfg::dtype>;
  tile::for_each<VEC>(p.m, p.n, [&](wt::i64 row, int col, auto width) {
    constexpr int W = decltype(width)::value;
    const int id = p.ids[row];
    wt::vec<W> value;
    if (id >= 0 && id < p.rows) {
      value = wt::load<W>((const T*)p.table + id * p.table_row + col);
    } else {
      for (int i = 0; i < W; ++i) value[i] = 0.0f;
    }
    wt::store<W>((T*)p.y + row * p.y_row + col, value);
  });
}

extern "C" __global__ __launch_bounds__(cfg::threads) void embedding_main(Params p) {
  overlap::begin();
  if (p.aligned) {
    embedding<cfg::vec>(p);
  } else {
    embedding<1>(p);
  }
}
