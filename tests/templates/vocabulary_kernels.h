// Kernels that hold the vocabulary of the preludes against plain code. Each counts what is wrong in Checks::errors, by
// kind, and is launched with one block unless it says otherwise.
#pragma once

namespace wavetune::templates::test {

/// For all targets.
inline constexpr const char* vocabulary_kernels = R"hip(
struct Checks { unsigned* errors; const char* in; char* out; };

__device__ inline bool same(float a, float b) {
  return __builtin_bit_cast(wt::u32, a) == __builtin_bit_cast(wt::u32, b) || (a != a && b != b);
}
__device__ inline void expect(const Checks& p, int kind, bool right) {
  if (!right) atomicAdd(p.errors + kind, 1u);
}

// 64 blocks of 256 threads: 2^20 floats over the whole range, both zeros, infinities and NaNs of both signs among them.
extern "C" __global__ __launch_bounds__(256) void convert(Checks p) {
  const wt::u32 first = blockIdx.x * 256 + threadIdx.x;
  for (wt::u32 i = 0; i < 64; i += 8) {
    wt::vec<4> four;
    wt::vec<8> eight;
    for (wt::u32 j = 0; j < 8; ++j) {
      const wt::u32 number = first * 64 + i + j;
      const wt::u32 bits = number < 16 ? number << 28 : number < 32 ? 0x7F800000u + ((number & 7u) << 20) + (number << 31) : number * 4099u;
      eight[j] = __builtin_bit_cast(float, bits);
      if (j < 4) four[j] = eight[j];
    }
    const wt::u32 bytes = wt::fp8_pack(four), nibbles = wt::fp4_pack(eight);
    for (int j = 0; j < 4; ++j) expect(p, 0, ((bytes >> 8 * j) & 0xFFu) == wt::soft::fp8_from_float(four[j]));
    expect(p, 1, wt::fp8_from_float(eight[7]) == wt::soft::fp8_from_float(eight[7]));
    for (int j = 0; j < 8; ++j) expect(p, 2, ((nibbles >> 4 * j) & 0xFu) == wt::soft::fp4_from_float(eight[j]));
    expect(p, 3, (wt::fp4_pair(eight[5], eight[6]) & 0xFFu) == ((nibbles >> 20) & 0xFFu));
  }
  if (first < 256) {
    expect(p, 4, same(wt::float_from_fp8(first), wt::soft::float_from_fp8(first)));
    for (wt::u32 code = 0; code < 256; ++code) {
      const float scale = wt::float_from_e8m0(code);
      const wt::chunk got = wt::cvt_fp4_bf16(first * 0x01010101u, scale);
      for (int j = 0; j < 8; ++j) {
        const float value = __builtin_bit_cast(float, ((got.w[j / 2] >> 16 * (j % 2)) & 0xFFFFu) << 16);
        // Exact, but for what overflows.
        expect(p, 5, same(value, wt::soft::float_from_fp4(first >> 4 * (j % 2)) * scale));
      }
    }
  }
}

extern "C" __global__ __launch_bounds__(192) void waves(Checks p) {
  constexpr int size = wt::wave_size;
  const int thread = (int)threadIdx.x, lane = thread % size, wave = thread / size, first = wave * size;
  expect(p, 0, wt::lane() == lane && wt::wave() == wave);
  for (int source = 0; source < size; ++source) {
    expect(p, 1, wt::shfl(thread * 3, source) == (first + source) * 3);
    expect(p, 1, wt::shfl(thread + 0.5f, source) == first + source + 0.5f);
    expect(p, 2, wt::shfl_xor(thread, source) == first + (lane ^ source));
    expect(p, 2, wt::shfl_xor(thread + 0.5f, source) == first + (lane ^ source) + 0.5f);
  }
  wt::u64 lanes = 0;
  for (int i = 0; i < size; ++i) lanes |= (wt::u64)((i * 7 + wave) % 3 == 0 ? 1 : 0) << i;
  expect(p, 3, wt::ballot((lane * 7 + wave) % 3 == 0) == lanes);
  expect(p, 4, wt::wave_sum((float)thread) == (float)(size * first + size * (size - 1) / 2));
  expect(p, 5, wt::wave_max((float)((lane * 7) % size + wave)) == (float)(size - 1 + wave));
}

// in: 8192 bytes. out: 2048 bytes of 0xEE, of which every second run of 16 of the first 1024 gets in's.
extern "C" __global__ __launch_bounds__(128) void windows(Checks p) {
  __shared__ alignas(128) char lds[8192];
  const int thread = (int)threadIdx.x, there = thread ^ 64;
  constexpr int rows = 70;  // of 16 bytes, in the window
  const wt::window from(p.in, rows * 16);
  char* const mine = lds + wt::wave() * 2048;
  const auto byte = [&](int at) { return (unsigned char)p.in[at]; };
  const auto copied = [&](int wave_of, int skip, int lane_of, int i) {
    return (unsigned char)lds[wave_of * 2048 + skip + lane_of * 16 + i];
  };
  wt::copy_chunk_to_lds<16, 0>(from, thread * 16, 64, mine);
  wt::copy_chunk_to_lds<0, 1024>(from, thread < 5 ? wt::outside : (wt::u32)thread * 16, 128, mine);
  wt::wait_copies<0>();
  wt::barrier_keeping_copies();
  const int wave = there / wt::wave_size, lane = there % wt::wave_size;
  for (int i = 0; i < 16; ++i) {
    expect(p, 0, copied(wave, 0, lane, i) == (there < rows ? byte(there * 16 + 80 + i) : 0));
    expect(p, 1, copied(wave, 1024, lane, i) == (there < rows && there >= 5 ? byte(there * 16 + 128 + i) : 0));
  }
  const wt::chunk chunk = wt::load_chunk(from, thread * 16, 16);
  const wt::u32 word = wt::load_word(from, thread * 16 + 4, 32);
  for (int i = 0; i < 16; ++i) {
    expect(p, 2, ((chunk.w[i / 4] >> 8 * (i % 4)) & 0xFFu) == (thread < rows ? byte(thread * 16 + 16 + i) : 0u));
  }
  for (int i = 0; i < 4; ++i) {
    expect(p, 3, ((word >> 8 * i) & 0xFFu) == (thread < rows ? byte(thread * 16 + 36 + i) : 0u));
  }
  const wt::window to(p.out, 1024);
  wt::chunk own;
  __builtin_memcpy(&own, __builtin_assume_aligned(p.in + thread * 16, 16), 16);
  wt::store_within(to, thread % 2 != 0 ? wt::outside : (wt::u32)thread * 16, own);
}
)hip";

/// For NVIDIA, after those for all targets.
inline constexpr const char* nvidia_kernels = R"hip(
__device__ inline float value_of(int row, int k, int kind) {
  return (float)((row * 7 + k * 13 + kind * 5) % 17 - 8) * 0.25f;  // exact in bf16 and e4m3
}

extern "C" __global__ __launch_bounds__(32) void matrix(Checks p) {
  __shared__ alignas(128) unsigned short a16[16][40], b16[8][40], turned[16][24];
  __shared__ alignas(128) unsigned char a8[16][48], b8[8][48];
  const int lane = (int)threadIdx.x, g = lane / 4, t = lane % 4;
  for (int row = 0; row < 16; ++row) {
    a16[row][lane] = wt::bf16_from_float(value_of(row, lane, 0)).bits;
    a8[row][lane] = (unsigned char)wt::soft::fp8_from_float(value_of(row, lane, 0));
    if (row < 8) {
      b16[row][lane] = wt::bf16_from_float(value_of(row, lane, 1)).bits;
      b8[row][lane] = (unsigned char)wt::soft::fp8_from_float(value_of(row, lane, 1));
    }
    if (lane < 8) turned[row][lane] = wt::bf16_from_float(value_of(lane, row, 1)).bits;
  }
  wt::wave_sync();
  const auto check = [&](int kind, const float (&d)[4], int depth) {
    for (int i = 0; i < 4; ++i) {
      const int row = g + i / 2 * 8, col = 2 * t + i % 2;
      float sum = 0.5f * (float)i;
      for (int k = 0; k < depth; ++k) sum += value_of(row, k, 0) * value_of(col, k, 1);
      expect(p, kind, sum == d[i]);
    }
  };
  wt::u32 a[4], b[2], other[4];
  wt::ldmatrix_x4(a, wt::lds_address(&a16[lane % 16][lane / 16 * 8]));
  for (int i = 0; i < 4; ++i) expect(p, 0, a[i] == *(const wt::u32*)&a16[g + i % 2 * 8][i / 2 * 8 + 2 * t]);
  for (int i = 0; i < 2; ++i) b[i] = *(const wt::u32*)&b16[g][i * 8 + 2 * t];
  float d[4] = {0.0f, 0.5f, 1.0f, 1.5f};
  wt::mma_bf16(d, a, b);
  check(1, d, 16);
  wt::ldmatrix_x4_trans(other, wt::lds_address(&turned[lane % 16][0]));
  expect(p, 2, other[0] == b[0] && other[1] == b[1] && other[2] == b[0] && other[3] == b[1]);
  expect(p, 3, wt::pack_bf16(value_of(1, 2, 0), -3.0f) == (wt::bf16_from_float(value_of(1, 2, 0)).bits | 0xC0400000u));
#if __CUDA_ARCH__ >= 890
  wt::ldmatrix_x4(a, wt::lds_address(&a8[lane % 16][lane / 16 * 16]));
  for (int i = 0; i < 2; ++i) b[i] = *(const wt::u32*)&b8[g][i * 16 + 4 * t];
  float e[4] = {0.0f, 0.5f, 1.0f, 1.5f};
  wt::mma_e4m3(e, a, b);
  check(4, e, 32);
#endif
}

extern "C" __global__ __launch_bounds__(64) void copies(Checks p) {
  __shared__ alignas(128) char lds[8192];
  const int thread = (int)threadIdx.x;
  const char* const own = p.in + thread * 16;
  wt::wait_for_predecessor();
  wt::let_successor_start();
  const wt::chunk want = *(const wt::chunk*)own;
  const wt::u32 first = wt::lds_address(lds), at = first + thread * 16;
  wt::copy_async(at, own);
  wt::commit_copies();
  wt::copy_async_if(at + 2048, own, thread % 3 == 0);
  wt::copy_async_word_if(first + 5120 + thread * 4, p.in + thread * 4, thread % 2 == 0);
  wt::commit_copies();
  const auto word = [&](int offset, int i) { return *(const wt::u32*)(lds + offset + thread * 16 + i * 4); };
  wt::wait_copy_groups<1>();
  for (int i = 0; i < 4; ++i) expect(p, 0, word(0, i) == want.w[i]);
  wt::wait_copy_groups<0>();
  for (int i = 0; i < 4; ++i) expect(p, 1, word(2048, i) == (thread % 3 == 0 ? want.w[i] : 0u));
  expect(p, 2, *(const wt::u32*)(lds + 5120 + thread * 4) == (thread % 2 == 0 ? ((const wt::u32*)p.in)[thread] : 0u));
  wt::store_lds(at + 6144, wt::load_lds(at));
  for (int i = 0; i < 4; ++i) expect(p, 3, word(6144, i) == want.w[i]);
}

#if __CUDA_ARCH__ >= 900
// Half of the block brings 2 KiB a stage by the copy engine and 2 KiB by its own copies, the other half reads them.
extern "C" __global__ __launch_bounds__(256) void pipeline(Checks p) {
  constexpr int stages = 2, bytes = 4096, rounds = 2;  // rounds: in has 8192 bytes
  __shared__ alignas(128) char lds[stages][bytes];
  __shared__ alignas(8) unsigned long long barriers[3 * stages];
  const int thread = (int)threadIdx.x;
  const wt::u32 first = wt::lds_address(lds), full = wt::lds_address(barriers), copied = full + 8 * stages,
                empty = copied + 8 * stages;
  if (thread == 0) {
    for (wt::u32 s = 0; s < stages; ++s) {
      wt::barrier_init(full + 8 * s, 1);
      wt::barrier_init(copied + 8 * s, 128);
      wt::barrier_init(empty + 8 * s, 128);
    }
    wt::fence_barrier_init();
  }
  __syncthreads();
  const int steps = 8 * stages;  // the input again and again
  if (thread >= 128) {
    for (int i = 0; i < steps; ++i) {
      const wt::u32 s = i % stages, to = first + bytes * s;
      const char* const from = p.in + i % rounds * bytes;
      wt::barrier_wait(empty + 8 * s, i / stages % 2 ^ 1);
      if (thread == 128) {
        wt::barrier_arrive_expect(full + 8 * s, 2048);
        wt::copy_bulk(to, from, 1024, full + 8 * s);
        wt::copy_bulk(to + 1024, from + 1024, 1024, full + 8 * s);
      }
      wt::copy_async(to + 2048 + (thread - 128) * 16, from + 2048 + (thread - 128) * 16);
      wt::barrier_arrive_after_copies(copied + 8 * s);
    }
  } else {
    for (int i = 0; i < steps; ++i) {
      const wt::u32 s = i % stages;
      wt::barrier_wait(full + 8 * s, i / stages % 2);
      wt::barrier_wait(copied + 8 * s, i / stages % 2);
      for (int k = thread; k < bytes; k += 128) expect(p, 0, lds[s][k] == p.in[i % rounds * bytes + k]);
      wt::barrier_arrive(empty + 8 * s);
      wt::barrier_of(1, 128);
    }
  }
}
#endif
)hip";

}  // namespace wavetune::templates::test
