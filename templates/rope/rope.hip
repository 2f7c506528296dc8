struct Params {
  const void* x;
  const int* positions;
  void* y;
  wt::i64 x_row, x_head, y_row, y_head;
  int m, heads, pairs;
  int aligned;
  float inverse_frequency[64];
};

// A thread turns one pair of one token in cfg::heads_per_thread heads, which share the angle.
template <int VEC>
__device__ void rope(const Params& p) {
  using T = wt::element<cfg::dtype>;
  const int index = (int)blockIdx.x * cfg::threads + (int)threadIdx.x;
  const int row = index / p.pairs;
  if (row >= p.m) return;
  const int pair = index % p.pairs;
  float sine, cosine;
  wt::sincos((float)p.positions[row] * p.inverse_frequency[pair], &sine, &cosine);
  const int begin = (int)blockIdx.y * cfg::heads_per_thread;
  const int end = wt::min(p.heads, begin + cfg::heads_per_thread);
  const T* x = (const T*)p.x + row * p.x_row + 2 * pair;
  T* y = (T*)p.y + row * p.y_row + 2 * pair;
  for (int head = begin; head < end; ++head) {
    wt::vec<2> value;
    if constexpr (VEC == 2) {
      value = wt::load<2>(x + head * p.x_head);
    } else {
      value[0] = wt::to_float(x[head * p.x_head]);
      value[1] = wt::to_float(x[head * p.x_head + 1]);
    }
    const wt::vec<2> turned = {value[0] * cosine - value[1] * sine, value[1] * cosine + value[0] * sine};
    if constexpr (VEC == 2) {
      wt::store<2>(y + head * p.y_head, turned);
    } else {
      y[head * p.y_head] = wt::cast<T>(turned[0]);
      y[head * p.y_head + 1] = wt::cast<T>(turned[1]);
    }
  }
}

extern "C" __global__ __launch_bounds__(cfg::threads) void rope_main(Params p) {
  overlap::begin();
  if (p.aligned) {
    rope<2>(p);
  } else {
    rope<1>(p);
  }
}
