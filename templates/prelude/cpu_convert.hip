// Conversions between number formats, and exchanges between lanes, with the names and results of amd_convert.hip.

namespace wt {

inline u32 fp8_from_float(float value) { return soft::fp8_from_float(value); }
inline float float_from_fp8(u32 code) { return soft::float_from_fp8(code); }

/// Codes of four numbers, the first in the lowest byte.
inline u32 fp8_pack(const vec<4>& values) {
  u32 word = 0;
  for (int i = 0; i < 4; ++i) word |= soft::fp8_from_float(values.v[i]) << (8 * i);
  return word;
}
/// Codes of eight numbers, the first in the lowest nibble.
inline u32 fp4_pack(const vec<8>& values) {
  u32 word = 0;
  for (int i = 0; i < 8; ++i) word |= soft::fp4_from_float(values.v[i]) << (4 * i);
  return word;
}
inline u32 fp4_pair(float even, float odd) { return soft::fp4_from_float(even) | soft::fp4_from_float(odd) << 4; }

/// 8 fp4, the first in the lowest nibble, times `scale` (a power of two or NaN) to 8 bf16.
inline chunk cvt_fp4_bf16(u32 eight_nibbles, float scale) {
  u32 bits[8];
  for (int i = 0; i < 8; ++i) {
    bits[i] = __builtin_bit_cast(u32, soft::float_from_fp4(eight_nibbles >> (4 * i)) * scale) >> 16;
  }
  chunk result;
  for (int i = 0; i < 4; ++i) result.w[i] = bits[2 * i] | bits[2 * i + 1] << 16;
  return result;
}

/// Lanes 32 to 63 of a change places with lanes 0 to 31 of b.
inline void permlane32_swap(u32& a, u32& b) {
  const u64 other = wt_cpu::shuffle(static_cast<u64>(b) << 32 | a, static_cast<unsigned>(lane() ^ 32));
  if (lane() < 32) {
    b = static_cast<u32>(other);
  } else {
    a = static_cast<u32>(other >> 32);
  }
}
/// In rows of 16 lanes: rows 1 and 3 of a change places with rows 0 and 2 of b.
inline void permlane16_swap(u32& a, u32& b) {
  const u64 other = wt_cpu::shuffle(static_cast<u64>(b) << 32 | a, static_cast<unsigned>(lane() ^ 16));
  if (lane() / 16 % 2 == 0) {
    b = static_cast<u32>(other);
  } else {
    a = static_cast<u32>(other >> 32);
  }
}

/// Every 16 lanes read a matrix of 4 rows and 16 columns of 16-bit elements, lane i 4 neighbouring elements of row i / 4 from its
/// address on (8-byte aligned, in LDS): columns i % 4 * 4 .. + 4. Lane i gets column i.
inline half_chunk lds_read_transposed16(const void* lds) {
  wt_cpu::Wave& wave = wt_cpu::own_wave();
  unsigned char* const buffer = wave.buffer[wave.parity];
  __builtin_memcpy(buffer + 8 * lane(), __builtin_assume_aligned(lds, 8), 8);
  wt_cpu::meet(wt_cpu::Meeting::shuffle, nullptr);
  const int first = lane() / 16 * 16, column = lane() % 16;
  half_chunk result;
  for (int row = 0; row < 4; ++row) {
    __builtin_memcpy(reinterpret_cast<unsigned char*>(&result) + 2 * row,
                     buffer + 8 * (first + row * 4 + column / 4) + 2 * (column % 4), 2);
  }
  return result;
}

}  // namespace wt
