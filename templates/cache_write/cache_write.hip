struct Params {
  const void* src;
  const int* slot;
  void* cache;
  wt::i64 src_row, cache_row;
  int m, n, slots;
  int aligned;
};

template <int VEC>
__device__ void cache_write(const Params& p) {
  using T = wt::element<cfg::dtype>;
  tile::for_each<VEC>(p.m, p.n, [&](wt::i64 row, int col, auto width) {
    constexpr int W = decltype(width)::value;
    const int slot = p.slot[row];
    if (slot < 0 || slot >= p.slots) return;
    wt::store<W>((T*)p.cache + slot * p.cache_row + col, wt::load<W>((const T*)p.src + row * p.src_row + col));
  });
}

extern "C" __global__ __launch_bounds__(cfg::threads) void cache_write_main(Params p) {
  overlap::begin();
  if (p.aligned) {
    cache_write<cfg::vec>(p);
  } else {
    cache_write<1>(p);
  }
}
