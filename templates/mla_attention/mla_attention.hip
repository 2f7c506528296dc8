namespace mla {

template <int PATH>
__device__ inline void run_path(const Params& p, char* lds) {
  if constexpr (PATH == 0) {
    serial(p, reinterpret_cast<float*>(lds));
  } else if constexpr (PATH == 1) {
    block<Plain>(p, lds);
  } else {
    static_assert(PATH == 2 && heads == 16, "a matrix tile has 16 heads");
    block<Matrix>(p, lds);
  }
}

}  // namespace mla

extern "C" __global__ __launch_bounds__(cfg::threads) void mla_attention_main(mla::Params p) {
  extern __shared__ char lds[];
  mla::run_path<cfg::path>(p, lds);
}

// One block for each head of each query: softmax over the parts of the list.
extern "C" __global__ __launch_bounds__(64) void mla_attention_combine(mla::Params p) {
  const int token = static_cast<int>(blockIdx.x) / p.heads, head = static_cast<int>(blockIdx.x) % p.heads;
  const float* const parts = mla::partial_of(p, token, head, 0);
  constexpr int size = mla::latent + 2;
  float maximum = mla::no_maximum;
  for (int part = 0; part < p.parts; ++part) maximum = wt::max(maximum, parts[part * size + mla::latent]);
  float total = 0.0f;
  for (int part = 0; part < p.parts; ++part) {
    total += parts[part * size + mla::latent + 1] * wt::exp(parts[part * size + mla::latent] - maximum);
  }
  const float factor = total > 0.0f ? 1.0f / total : 0.0f;
  for (int col = static_cast<int>(threadIdx.x); col < mla::latent; col += 64) {
    float sum = 0.0f;
    for (int part = 0; part < p.parts; ++part) {
      sum += parts[part * size + col] * wt::exp(parts[part * size + mla::latent] - maximum);
    }
    p.out[token * p.out_row + head * mla::latent + col] = wt::cast<mla::T>(sum * factor);
  }
}
