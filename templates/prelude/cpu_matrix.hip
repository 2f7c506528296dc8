// The wave-collective matrix tile on the CPU, in the register layout of AMD's 16x16 MFMA: lanes deposit their fragments, the
// last one to arrive multiplies, each takes its part.

namespace wt_cpu {

/// Buffer: A as [k][16 rows], B as [k][16 columns], then D as [16 rows][16 columns]; K is at most 16: 1 KiB each.
template <int K>
inline void multiply_tile(unsigned char* buffer, unsigned long long) {
  const float* const a = reinterpret_cast<const float*>(buffer);
  const float* const b = a + 256;
  float* const d = reinterpret_cast<float*>(buffer) + 512;
  float tile[16][16] = {};
  for (int k = 0; k < K; ++k) {
    for (int row = 0; row < 16; ++row) {
      for (int column = 0; column < 16; ++column) tile[row][column] += a[k * 16 + row] * b[k * 16 + column];
    }
  }
  __builtin_memcpy(d, tile, sizeof tile);
}

template <class T, int K>
struct Mma16 {
  static constexpr int m = 16, n = 16, k = K;
  static constexpr int fragment = K / 4;  ///< elements of A (and of B) in one lane
  struct ab {
    T v[fragment];
    T& operator[](int i) { return v[i]; }
    const T& operator[](int i) const { return v[i]; }
  };
  using acc = wt::vec<4>;

  static int row_a(int lane) { return lane % 16; }
  static int col_b(int lane) { return lane % 16; }
  static int k_ab(int lane) { return lane / 16 * fragment; }
  static int row_c(int lane) { return lane / 16 * 4; }
  static int col_c(int lane) { return lane % 16; }

  static acc run(const ab& a, const ab& b, const acc& c) {
    Wave& wave = own_wave();
    float* const buffer = reinterpret_cast<float*>(wave.buffer[wave.parity]);
    const int lane = wt::lane();
    for (int i = 0; i < fragment; ++i) {
      buffer[(k_ab(lane) + i) * 16 + row_a(lane)] = wt::to_float(a.v[i]);
      buffer[256 + (k_ab(lane) + i) * 16 + col_b(lane)] = wt::to_float(b.v[i]);
    }
    meet(Meeting::matrix, multiply_tile<K>);
    acc result;
    for (int i = 0; i < 4; ++i) result.v[i] = c.v[i] + buffer[512 + (row_c(lane) + i) * 16 + col_c(lane)];
    return result;
  }
};

}  // namespace wt_cpu

namespace wt {

/// D = A * B^T + C on a 16x16 tile, collective over the wave. A lane holds A[row_a][k_ab .. + k/4), B[col_b][k_ab .. + k/4)
/// and C/D[row_c + i][col_c] in acc[i].
template <class T>
struct mma16;
template <>
struct mma16<bf16> : wt_cpu::Mma16<bf16, 16> {};
template <>
struct mma16<float> : wt_cpu::Mma16<float, 4> {};

}  // namespace wt

// Matrix products on whole 16-byte chunks, in the register layouts of CDNA4's instructions (amd_matrix.hip has them in words):
// lanes deposit decoded floats, the last one to arrive multiplies.

namespace wt {

/// Codes of the 8 and 4 bit formats, as the instructions have them.
constexpr int fp8 = 0, fp4 = 4;

}  // namespace wt

namespace wt_cpu {

/// An instruction that multiplies Tile rows of A with Tile rows of B, each of K elements.
template <int Tile, int K>
struct MatrixTile {
  static constexpr int operand = Tile * K;      ///< floats of A, and of B
  static constexpr int scales = Tile * K / 32;  ///< of A, and of B
  static_assert((2 * operand + 2 * scales) * sizeof(float) <= matrix_bytes && Tile * Tile <= 2 * operand);

  // Buffer: A [row][k], B [k][row], scales of A [block of k][row], of B. D [row][column] takes their place.
  static float* a(unsigned char* buffer) { return reinterpret_cast<float*>(buffer); }
  static float* b(unsigned char* buffer) { return a(buffer) + operand; }
  static float* scale_a(unsigned char* buffer) { return b(buffer) + operand; }
  static float* scale_b(unsigned char* buffer) { return scale_a(buffer) + scales; }

  static constexpr int rows = 4, columns = 16;  ///< of D that are summed in registers
  typedef float Row __attribute__((vector_size(columns * sizeof(float))));
  struct Sums {
    Row row[rows];
  };

  /// Sum over k in [begin, end) of the part of D at (row, column).
  static inline __attribute__((always_inline)) Sums product(const float* a, const float* b, int row, int column, int begin, int end) {
    Sums sums = {};
    for (int k = begin; k < end; ++k) {
      Row right;
      __builtin_memcpy(&right, b + k * Tile + column, sizeof right);
      WT_UNROLL
      for (int i = 0; i < rows; ++i) sums.row[i] += a[(row + i) * K + k] * right;
    }
    return sums;
  }

  static void multiply(unsigned char* buffer, unsigned long long) {
    float d[Tile][Tile];
    for (int row = 0; row < Tile; row += rows) {
      for (int column = 0; column < Tile; column += columns) {
        const Sums sums = product(a(buffer), b(buffer), row, column, 0, K);
        for (int i = 0; i < rows; ++i) __builtin_memcpy(&d[row + i][column], &sums.row[i], sizeof(Row));
      }
    }
    __builtin_memcpy(buffer, d, sizeof d);
  }

  /// Scales are applied to the sum of a block in double: the product of two of them exceeds the range of float.
  static void multiply_scaled(unsigned char* buffer, unsigned long long) {
    float d[Tile][Tile];
    for (int row = 0; row < Tile; row += rows) {
      for (int column = 0; column < Tile; column += columns) {
        double total[rows][columns] = {};
        for (int block = 0; block < K / 32; ++block) {
          const Sums sums = product(a(buffer), b(buffer), row, column, block * 32, block * 32 + 32);
          const float* const right = scale_b(buffer) + block * Tile + column;
          for (int i = 0; i < rows; ++i) {
            const double left = scale_a(buffer)[block * Tile + row + i];
            for (int j = 0; j < columns; ++j) total[i][j] += static_cast<double>(sums.row[i][j]) * (left * right[j]);
          }
        }
        for (int i = 0; i < rows; ++i) {
          for (int j = 0; j < columns; ++j) d[row + i][column + j] = static_cast<float>(total[i][j]);
        }
      }
    }
    __builtin_memcpy(buffer, d, sizeof d);
  }

  /// `Count` elements of a row from k on.
  template <int Count>
  static void deposit_a(unsigned char* buffer, int row, int k, const float* values) {
    __builtin_memcpy(a(buffer) + row * K + k, values, Count * sizeof(float));
  }
  template <int Count>
  static void deposit_b(unsigned char* buffer, int row, int k, const float* values) {
    float* const to = b(buffer) + k * Tile + row;
    for (int i = 0; i < Count; ++i) to[i * Tile] = values[i];
  }
};

/// Where element `element` of 32 in a lane of group `group` lies along k. fp8 operands come in two halves of the instruction's k.
template <int Format, int K>
constexpr int k_of(int group, int element) {
  if (Format == wt::fp4) return group * 32 + element;
  return element / 16 * (K / 2) + group * 16 + element % 16;
}

template <int Format>
inline void decode(const wt::chunk (&c)[2], float* values) {
  unsigned char bytes[32];
  __builtin_memcpy(bytes, c, sizeof bytes);
  if constexpr (Format == wt::fp4) {
    for (int i = 0; i < 16; ++i) {
      values[2 * i] = wt::soft::float_from_fp4(bytes[i]);
      values[2 * i + 1] = wt::soft::float_from_fp4(bytes[i] >> 4);
    }
  } else {
    static_assert(Format == wt::fp8);
    for (int i = 0; i < 32; ++i) values[i] = wt::soft::float_from_fp8(bytes[i]);
  }
}

template <int Tile>
struct Mma {
  static constexpr int groups = 64 / Tile;
  using acc = wt::vec<Tile * Tile / 64>;

  static acc result(const unsigned char* buffer, int lane, const acc& c) {
    const float* const d = reinterpret_cast<const float*>(buffer) + lane % Tile;
    const int group = lane / Tile;
    acc sum;
    for (int i = 0; i < Tile * Tile / 64; ++i) {
      sum.v[i] = c.v[i] + d[(i / 4 * 4 * groups + group * 4 + i % 4) * Tile];
    }
    return sum;
  }

  static acc bf16(const wt::chunk& a, const wt::chunk& b, const acc& c) {
    using M = MatrixTile<Tile, 8 * groups>;
    unsigned char* const buffer = own_wave().buffer[own_wave().parity];
    const int lane = wt::lane(), row = lane % Tile, k = lane / Tile * 8;
    float values[8];
    const auto decode_chunk = [&](const wt::chunk& from) {
      for (int i = 0; i < 4; ++i) {
        values[2 * i] = __builtin_bit_cast(float, from.w[i] << 16);
        values[2 * i + 1] = __builtin_bit_cast(float, from.w[i] & 0xFFFF0000u);
      }
    };
    decode_chunk(a);
    M::template deposit_a<8>(buffer, row, k, values);
    decode_chunk(b);
    M::template deposit_b<8>(buffer, row, k, values);
    meet(Meeting::matrix, M::multiply);
    return result(buffer, lane, c);
  }

  /// Takes byte SelA of scale_a and byte SelB of scale_b.
  template <int FormatA, int FormatB, int SelA, int SelB>
  static acc scaled(const wt::chunk (&a)[2], const wt::chunk (&b)[2], const acc& c, wt::u32 scale_a, wt::u32 scale_b) {
    constexpr int K = 32 * groups;
    using M = MatrixTile<Tile, K>;
    unsigned char* const buffer = own_wave().buffer[own_wave().parity];
    const int lane = wt::lane(), row = lane % Tile, group = lane / Tile;
    float values[32];
    decode<FormatA>(a, values);
    for (int half = 0; half < 32; half += 16) {
      M::template deposit_a<16>(buffer, row, k_of<FormatA, K>(group, half), values + half);
    }
    decode<FormatB>(b, values);
    for (int half = 0; half < 32; half += 16) {
      M::template deposit_b<16>(buffer, row, k_of<FormatB, K>(group, half), values + half);
    }
    M::scale_a(buffer)[group * Tile + row] = wt::float_from_e8m0((scale_a >> (8 * SelA)) & 0xFFu);
    M::scale_b(buffer)[group * Tile + row] = wt::float_from_e8m0((scale_b >> (8 * SelB)) & 0xFFu);
    meet(Meeting::matrix, M::multiply_scaled);
    return result(buffer, lane, c);
  }
};

}  // namespace wt_cpu

namespace wt {

/// D = A * B^T + C, collective over the wave: bf16() on 16x16x32 or 32x32x16, scaled() on 16x16x128 or 32x32x64.
template <int Tile>
struct mma : wt_cpu::Mma<Tile> {
  static_assert(Tile == 16 || Tile == 32);
};

}  // namespace wt
