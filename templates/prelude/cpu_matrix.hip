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
