// Path 3 with blocks on their own: each writes its sums, and with several parts of a list a second kernel puts those of
// a head together in order.
namespace mla {

// The workspace: sums [m, all heads, parts, latent], then a maximum (in exponents of 2) and a total for each.
__device__ inline float* part_sums(const Params& p, wt::i64 row, int part) {
  return p.partial + (row * p.parts + part) * latent;
}
__device__ inline float* part_numbers(const Params& p, wt::i64 row, int part) {
  return p.partial + static_cast<wt::i64>(p.m) * p.heads * p.parts * latent + (row * p.parts + part) * 2;
}

__device__ inline void write_part(const Block& block, const float (&out)[own_tiles][4], const float (&maximum)[2],
                                  const float (&total)[2]) {
  const Params& p = block.p;
  const int first = block.wave * own_cols + block.quad * 2;
  WT_UNROLL
  for (int h = 0; h < 2; ++h) {
    const int head = block.work.head0 + block.row + h * 8;
    if (head >= p.heads) continue;
    if (p.partial != nullptr) {
      const wt::i64 row = static_cast<wt::i64>(block.work.token) * p.heads + head;
      float* const to = part_sums(p, row, block.work.part) + first;
      WT_UNROLL
      for (int c = 0; c < own_tiles; ++c) wt::store<2>(to + c * 8, wt::vec<2>{out[c][h * 2], out[c][h * 2 + 1]});
      if (first == 0) wt::store<2>(part_numbers(p, row, block.work.part), wt::vec<2>{maximum[h], total[h]});
    } else {
      const float factor = total[h] > 0.0f ? 1.0f / total[h] : 0.0f;  // a query without tokens gives 0
      T* const to = p.out + block.work.token * p.out_row + head * latent + first;
      WT_UNROLL
      for (int c = 0; c < own_tiles; ++c) {
        store_pair(p, to + c * 8, out[c][h * 2] * factor, out[c][h * 2 + 1] * factor);
      }
    }
  }
}

}  // namespace mla

extern "C" __global__ __launch_bounds__(cfg::threads) void mla_attention_main(mla::Params p) {
  extern __shared__ __align__(128) char memory[];
  mla::Block(p, memory).run(mla::write_part);
}

// 128 columns of a head in each block: 8 lanes read 32 neighbouring columns of every fourth part.
extern "C" __global__ __launch_bounds__(128) void mla_attention_combine(mla::Params p) {
  constexpr int col_blocks = (mla::latent + 127) / 128;
  const int lane = static_cast<int>(threadIdx.x) % wt::wave_size, group = lane / 8;
  const int col = static_cast<int>(blockIdx.x) % col_blocks * 128 + static_cast<int>(threadIdx.x) / wt::wave_size * 32 +
                  lane % 8 * 4;
  const wt::i64 row = static_cast<int>(blockIdx.x) / col_blocks;
  wt::wait_for_predecessor();
  wt::let_successor_start();
  const float* const numbers = mla::part_numbers(p, row, 0);
  float maximum = mla::no_maximum, total = 0.0f;
  for (int part = lane; part < p.parts; part += wt::wave_size) maximum = wt::max(maximum, numbers[part * 2]);
  maximum = wt::wave_max(maximum);
  for (int part = lane; part < p.parts; part += wt::wave_size) {
    total += numbers[part * 2 + 1] * ::exp2f(numbers[part * 2] - maximum);
  }
  total = wt::wave_sum(total);
  if (col >= mla::latent) return;  // whole groups of 8 lanes: latent is a multiple of 32
  wt::vec<4> sums{};
#pragma unroll 4
  for (int part = group; part < p.parts; part += 4) {
    sums = wt::fma(::exp2f(numbers[part * 2] - maximum), wt::load<4>(mla::part_sums(p, row, part) + col), sums);
  }
  const float factor = total > 0.0f ? 1.0f / total : 0.0f;
  WT_UNROLL
  for (int x = 0; x < 4; ++x) {
    sums[x] += wt::shfl_xor(sums[x], 8);
    sums[x] += wt::shfl_xor(sums[x], 16);
    sums[x] *= factor;
  }
  if (group != 0) return;
  mla::T* const to = p.out + row / p.heads * p.out_row + row % p.heads * mla::latent + col;
  mla::store_pair(p, to, sums[0], sums[1]);
  mla::store_pair(p, to + 2, sums[2], sums[3]);
}
