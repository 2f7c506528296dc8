// Matrix instructions and lane exchanges of the kernel vocabulary, against plain products in double and written-out
// tables.
#include <bit>
#include <cmath>
#include <random>

#include "templates/dtype.h"
#include "templates/formats.h"
#include "tests/runtime/hip/cpu_kernels.h"

namespace wavetune::hip {
namespace {

using test::Kernels;

/// Operands as rows: A [tile][k bytes], B [tile][k bytes], scales [tile][k / 32]; C [tile][tile].
constexpr const char* products = R"(
  struct P { const char* a; const char* b; const unsigned char* scale_a; const unsigned char* scale_b; float* c; };
  template <int Tile> __device__ int row_of(int i) {
    int g = wt::lane() / Tile;
    return Tile == 16 ? g * 4 + i : 8 * (i / 4) + g * 4 + i % 4;
  }
  template <int Tile> __device__ typename wt::mma<Tile>::acc load_c(const P& p) {
    typename wt::mma<Tile>::acc c;
    for (int i = 0; i < Tile * Tile / 64; ++i) c[i] = p.c[row_of<Tile>(i) * Tile + wt::lane() % Tile];
    return c;
  }
  template <int Tile> __device__ void store_c(const P& p, const typename wt::mma<Tile>::acc& c) {
    for (int i = 0; i < Tile * Tile / 64; ++i) p.c[row_of<Tile>(i) * Tile + wt::lane() % Tile] = c[i];
  }
  template <int Tile> __device__ void bf16(P p) {
    constexpr int k_bytes = 2 * 8 * 64 / Tile;
    int at = wt::lane() % Tile * k_bytes + wt::lane() / Tile * 16;
    store_c<Tile>(p, wt::mma<Tile>::bf16(*(const wt::chunk*)(p.a + at), *(const wt::chunk*)(p.b + at), load_c<Tile>(p)));
  }
  template <int Tile, int Format> __device__ void load(const char* from, wt::chunk (&c)[2]) {
    constexpr int k_bytes = 32 * 64 / Tile / (Format == wt::fp4 ? 2 : 1);
    const char* row = from + wt::lane() % Tile * k_bytes + wt::lane() / Tile * 16;
    c[0] = *(const wt::chunk*)row;
    if (Format == wt::fp8) c[1] = *(const wt::chunk*)(row + k_bytes / 2);
  }
  template <int Tile, int A, int B, int SelA, int SelB> __device__ void scaled(P p) {
    wt::chunk a[2], b[2];
    load<Tile, A>(p.a, a);
    load<Tile, B>(p.b, b);
    int at = wt::lane() % Tile * (64 / Tile) + wt::lane() / Tile;
    unsigned other = 0x55AA3377u;  // what the selectors must not pick
    unsigned scale_a = (other & ~(0xFFu << 8 * SelA)) | (unsigned)p.scale_a[at] << 8 * SelA;
    unsigned scale_b = (other & ~(0xFFu << 8 * SelB)) | (unsigned)p.scale_b[at] << 8 * SelB;
    auto c = load_c<Tile>(p);
    c = wt::mma<Tile>::template scaled<A, B, SelA, SelB>(a, b, c, scale_a, scale_b);
    store_c<Tile>(p, c);
  }
  extern "C" __global__ void bf16_16(P p) { bf16<16>(p); }
  extern "C" __global__ void bf16_32(P p) { bf16<32>(p); }
  extern "C" __global__ void fp8_fp8_16(P p) { scaled<16, wt::fp8, wt::fp8, 0, 3>(p); }
  extern "C" __global__ void fp4_fp4_16(P p) { scaled<16, wt::fp4, wt::fp4, 1, 2>(p); }
  extern "C" __global__ void fp8_fp4_16(P p) { scaled<16, wt::fp8, wt::fp4, 2, 1>(p); }
  extern "C" __global__ void fp4_fp8_16(P p) { scaled<16, wt::fp4, wt::fp8, 3, 0>(p); }
  extern "C" __global__ void fp8_fp8_32(P p) { scaled<32, wt::fp8, wt::fp8, 3, 3>(p); }
  extern "C" __global__ void fp4_fp4_32(P p) { scaled<32, wt::fp4, wt::fp4, 0, 0>(p); }
  extern "C" __global__ void fp8_fp4_32(P p) { scaled<32, wt::fp8, wt::fp4, 1, 1>(p); }
  extern "C" __global__ void fp4_fp8_32(P p) { scaled<32, wt::fp4, wt::fp8, 2, 2>(p); })";

struct Product {
  std::string kernel;
  size_t tile, k;
  templates::DType a, b;
  std::vector<std::uint8_t> bytes_a, bytes_b, scale_a, scale_b;
  std::vector<float> c;
};

double element(templates::DType type, const std::vector<std::uint8_t>& bytes, size_t index) {
  switch (type) {
    case templates::DType::fp8:
      return templates::float_from_fp8(bytes[index]);
    case templates::DType::fp4:
      return templates::float_from_fp4(templates::fp4_code(bytes, index));
    default: {
      std::uint16_t bits = 0;
      std::memcpy(&bits, &bytes[2 * index], 2);
      return templates::float_from_bf16(bits);
    }
  }
}

class Operands {
 public:
  explicit Operands(unsigned seed) : random_(seed) {}

  std::vector<std::uint8_t> make(templates::DType type, size_t count) {
    std::vector<std::uint8_t> bytes(templates::bytes_for(type, static_cast<std::int64_t>(count)));
    if (type == templates::DType::bf16) {
      std::normal_distribution<float> normal;
      for (size_t i = 0; i < count; ++i) {
        const std::uint16_t bits = templates::bf16_from_float(normal(random_));
        std::memcpy(&bytes[2 * i], &bits, 2);
      }
    } else {
      for (std::uint8_t& byte : bytes) {
        do {
          byte = static_cast<std::uint8_t>(random_());
        } while (type == templates::DType::fp8 && (byte & 0x7F) == templates::fp8_nan);
      }
    }
    return bytes;
  }
  std::vector<std::uint8_t> scales(size_t count, int lowest, int highest) {
    std::uniform_int_distribution<int> codes(lowest, highest);
    std::vector<std::uint8_t> bytes(count);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(codes(random_));
    return bytes;
  }
  std::vector<float> floats(size_t count) {
    std::normal_distribution<float> normal;
    std::vector<float> values(count);
    for (float& value : values) value = normal(random_);
    return values;
  }

 private:
  std::mt19937 random_;
};

class CpuMatrix : public testing::Test {
 protected:
  std::vector<float> run(const Product& p) {
    const auto copy = [&](const void* from, size_t bytes) {
      DeviceBuffer buffer(kernels_.api, bytes);
      check(kernels_.api, kernels_.api.hipMemcpy(buffer.get(), from, bytes, hipMemcpyHostToDevice), "copy");
      return buffer;
    };
    const DeviceBuffer a = copy(p.bytes_a.data(), p.bytes_a.size()), b = copy(p.bytes_b.data(), p.bytes_b.size());
    const DeviceBuffer scale_a = copy(p.scale_a.data(), p.scale_a.size());
    const DeviceBuffer scale_b = copy(p.scale_b.data(), p.scale_b.size());
    const DeviceBuffer c = copy(p.c.data(), p.c.size() * sizeof(float));
    struct Params {
      void *a, *b, *scale_a, *scale_b, *c;
    };
    const Params params{a.get(), b.get(), scale_a.get(), scale_b.get(), c.get()};
    EXPECT_EQ(kernels_.launch(p.kernel, 1, 64, params), hipSuccess);
    EXPECT_EQ(kernels_.synchronize(), hipSuccess);
    return kernels_.read<float>(c, p.c.size());
  }

  static void expect_product(const Product& p, const std::vector<float>& got) {
    const size_t blocks = p.k / 32;
    for (size_t row = 0; row < p.tile; ++row) {
      for (size_t column = 0; column < p.tile; ++column) {
        double sum = p.c[row * p.tile + column], magnitude = std::fabs(sum);
        for (size_t k = 0; k < p.k; ++k) {
          double term = element(p.a, p.bytes_a, row * p.k + k) * element(p.b, p.bytes_b, column * p.k + k);
          if (p.a != templates::DType::bf16) {
            term *= double{templates::float_from_e8m0(p.scale_a[row * blocks + k / 32])} *
                    double{templates::float_from_e8m0(p.scale_b[column * blocks + k / 32])};
          }
          sum += term;
          magnitude += std::fabs(term);
        }
        const float value = got[row * p.tile + column];
        if (std::isnan(sum)) {
          EXPECT_TRUE(std::isnan(value)) << p.kernel << " " << row << " " << column;
        } else {
          ASSERT_NEAR(value, sum, 1e-5 * magnitude) << p.kernel << " " << row << " " << column;
        }
      }
    }
  }

  Kernels kernels_{products};
};

struct Pair {
  const char* name;
  templates::DType a, b;
};
constexpr Pair pairs[] = {{"fp8_fp8", templates::DType::fp8, templates::DType::fp8},
                          {"fp4_fp4", templates::DType::fp4, templates::DType::fp4},
                          {"fp8_fp4", templates::DType::fp8, templates::DType::fp4},
                          {"fp4_fp8", templates::DType::fp4, templates::DType::fp8}};

TEST_F(CpuMatrix, Bf16IsAProductInTheLayoutOfMfma) {
  Operands operands(1);
  for (const size_t tile : {size_t{16}, size_t{32}}) {
    Product p{"bf16_" + std::to_string(tile),
              tile,
              512 / tile,
              templates::DType::bf16,
              templates::DType::bf16,
              {},
              {},
              {0},
              {0},
              operands.floats(tile * tile)};
    p.bytes_a = operands.make(p.a, tile * p.k);
    p.bytes_b = operands.make(p.b, tile * p.k);
    expect_product(p, run(p));
  }
}

TEST_F(CpuMatrix, ScaledFormatsAreProductsInTheLayoutOfMfma) {
  Operands operands(2);
  for (const Pair& pair : pairs) {
    for (const size_t tile : {size_t{16}, size_t{32}}) {
      for (const int spread : {0, 8, 126}) {
        Product p{std::string(pair.name) + "_" + std::to_string(tile),
                  tile,
                  2048 / tile,
                  pair.a,
                  pair.b,
                  {},
                  {},
                  {},
                  {},
                  operands.floats(tile * tile)};
        p.bytes_a = operands.make(p.a, tile * p.k);
        p.bytes_b = operands.make(p.b, tile * p.k);
        // With the widest spread, A's scales alone would leave the range of float: B's bring the products back.
        p.scale_a = operands.scales(tile * p.k / 32, 127, 127 + spread);
        p.scale_b = operands.scales(tile * p.k / 32, 127 - spread, spread == 126 ? 3 : 127);
        expect_product(p, run(p));
      }
    }
  }
}

TEST_F(CpuMatrix, NotANumberReachesItsRowAndColumnOnly) {
  Operands operands(3);
  for (const Pair& pair : pairs) {
    for (const size_t tile : {size_t{16}, size_t{32}}) {
      Product p{std::string(pair.name) + "_" + std::to_string(tile),
                tile,
                2048 / tile,
                pair.a,
                pair.b,
                {},
                {},
                {},
                {},
                operands.floats(tile * tile)};
      p.bytes_a = operands.make(p.a, tile * p.k);
      p.bytes_b = operands.make(p.b, tile * p.k);
      p.scale_a = operands.scales(tile * p.k / 32, 120, 130);
      p.scale_b = operands.scales(tile * p.k / 32, 120, 130);
      p.scale_a[5 * p.k / 32 + 1] = templates::e8m0_nan;
      p.scale_b[9 * p.k / 32] = templates::e8m0_nan;
      if (p.a == templates::DType::fp8) p.bytes_a[3 * p.k + 17] = templates::fp8_nan;
      if (p.b == templates::DType::fp8) p.bytes_b[11 * p.k + 40] = templates::fp8_nan | 0x80;
      const std::vector<float> got = run(p);
      expect_product(p, got);
      EXPECT_TRUE(std::isnan(got[5 * tile + 2])) << p.kernel;
      EXPECT_FALSE(std::isnan(got[4 * tile + 2])) << p.kernel;
    }
  }
}

TEST(CpuLanes, SwapsOfRowsAndHalves) {
  Kernels k(R"(
    struct P { unsigned* out; };
    extern "C" __global__ void swap(P p) {
      unsigned t = threadIdx.x, a = t, b = 100 + t;
      wt::permlane32_swap(a, b);
      p.out[t] = a; p.out[64 + t] = b;
      a = t; b = 100 + t;
      wt::permlane16_swap(a, b);
      p.out[128 + t] = a; p.out[192 + t] = b;
    })");
  DeviceBuffer out(k.api, 256 * sizeof(unsigned));
  ASSERT_EQ(k.launch("swap", 1, 64, out.get()), hipSuccess);
  ASSERT_EQ(k.synchronize(), hipSuccess);
  const auto values = k.read<unsigned>(out, 256);
  // First lane's value of each row of 16 lanes: what LLVM's description of the instructions makes of rows a0..a3,
  // b0..b3.
  const unsigned expected[4][4] = {{0, 16, 100, 116},    // permlane32, a: a0 a1 b0 b1
                                   {32, 48, 132, 148},   // b: a2 a3 b2 b3
                                   {0, 100, 32, 132},    // permlane16, a: a0 b0 a2 b2
                                   {16, 116, 48, 148}};  // b: a1 b1 a3 b3
  for (unsigned i = 0; i < 256; ++i) EXPECT_EQ(values[i], expected[i / 64][i / 16 % 4] + i % 16) << i;
}

TEST(CpuLanes, TransposedReads) {
  Kernels k(R"(
    struct P { unsigned short* out; };
    extern "C" __global__ void transpose(P p) {
      __shared__ __attribute__((aligned(16))) unsigned short m[16][24];  // four tiles of 4 rows and 16 columns, in rows of 24
      for (int i = threadIdx.x; i < 16 * 24; i += 64) (&m[0][0])[i] = i / 24 * 100 + i % 24;
      __syncthreads();
      int l = threadIdx.x;
      wt::half_chunk h = wt::lds_read_transposed16(&m[l / 16 * 4 + l % 16 / 4][l % 4 * 4]);
      __builtin_memcpy(p.out + 4 * l, &h, 8);
    })");
  DeviceBuffer out(k.api, 256 * sizeof(unsigned short));
  ASSERT_EQ(k.launch("transpose", 1, 64, out.get()), hipSuccess);
  ASSERT_EQ(k.synchronize(), hipSuccess);
  const auto values = k.read<unsigned short>(out, 256);
  for (unsigned lane = 0; lane < 64; ++lane) {
    for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(values[4 * lane + i], (lane / 16 * 4 + i) * 100 + lane % 16) << lane;
  }
}

TEST(CpuLanes, ConversionsAreThoseOfTheHost) {
  Kernels k(R"(
    struct P { const float* in; unsigned* out; int n; };
    template <int N> __device__ wt::vec<N> load(const float (&values)[N]) {
      wt::vec<N> result;
      for (int i = 0; i < N; ++i) result[i] = values[i];
      return result;
    }
    extern "C" __global__ void convert(P p) {
      int i = blockIdx.x * 64 + threadIdx.x;
      if (i >= p.n) return;
      float x = p.in[i];
      unsigned scale = wt::mx_scale_even(__builtin_fabsf(x));
      p.out[4 * i] = wt::fp8_from_float(x) | wt::fp4_pair(x, -x) << 8 | scale << 16;
      float scaled = x * wt::mx_inverse_scale(scale);
      p.out[4 * i + 1] = __builtin_bit_cast(unsigned, scaled);
      p.out[4 * i + 2] = wt::fp8_pack(load<4>({x, 1.0f, -x, 448.0f}));
      p.out[4 * i + 3] = wt::fp4_pack(load<8>({x, 1.0f, -x, 6.0f, 0.5f, x, 1.5f, -0.0f}));
    }
    struct Q { float* out; };
    extern "C" __global__ void decode(Q q) {
      unsigned code = threadIdx.x;
      q.out[code] = wt::float_from_fp8(code);
      q.out[256 + code] = wt::float_from_e8m0(code);
      const wt::chunk pair = wt::cvt_fp4_bf16(code, 4.0f);
      q.out[512 + 2 * code] = __builtin_bit_cast(float, pair.w[0] << 16);
      q.out[512 + 2 * code + 1] = __builtin_bit_cast(float, pair.w[0] & 0xFFFF0000u);
    })");
  std::vector<float> input;
  std::mt19937 random(4);
  for (int exponent = -149; exponent < 128; ++exponent) {
    for (const float mantissa : {1.0f, 1.0625f, 1.125f, 1.25f, 1.3125f, 1.5f, 1.74999f, 1.75f, 1.99999f}) {
      input.push_back(std::ldexp(mantissa, exponent));
      input.push_back(-input.back());
    }
  }
  for (int i = 0; i < 20000; ++i) input.push_back(std::normal_distribution<float>(0, 50)(random));
  for (const float special : {0.0f, -0.0f, INFINITY, -INFINITY, NAN}) input.push_back(special);
  DeviceBuffer in(k.api, input.size() * 4), out(k.api, input.size() * 16), decoded(k.api, 1024 * 4);
  check(k.api, k.api.hipMemcpy(in.get(), input.data(), input.size() * 4, hipMemcpyHostToDevice), "copy");
  struct P {
    void *in, *out;
    int n;
  };
  const auto n = static_cast<unsigned>(input.size());
  ASSERT_EQ(k.launch("convert", (n + 63) / 64, 64, P{in.get(), out.get(), static_cast<int>(n)}), hipSuccess);
  ASSERT_EQ(k.launch("decode", 1, 256, decoded.get()), hipSuccess);
  ASSERT_EQ(k.synchronize(), hipSuccess);
  const auto got = k.read<unsigned>(out, input.size() * 4);
  for (size_t i = 0; i < input.size(); ++i) {
    const float x = input[i];
    const unsigned f8 = templates::fp8_from_float(x), f8_negative = templates::fp8_from_float(-x);
    const unsigned f4 = templates::fp4_from_float(x), f4_negative = templates::fp4_from_float(-x);
    const unsigned scale = templates::mx_scale_even(std::fabs(x));
    ASSERT_EQ(got[4 * i], f8 | (f4 | f4_negative << 4) << 8 | scale << 16) << x;
    if (!std::isnan(x)) {
      ASSERT_EQ(std::bit_cast<float>(got[4 * i + 1]), std::ldexp(x, 127 - static_cast<int>(scale))) << x;
    }
    ASSERT_EQ(got[4 * i + 2], f8 | 0x38u << 8 | f8_negative << 16 | 0x7Eu << 24) << x;
    ASSERT_EQ(got[4 * i + 3],
              f4 | 0x2u << 4 | f4_negative << 8 | 0x7u << 12 | 0x1u << 16 | f4 << 20 | 0x3u << 24 | 0x8u << 28)
        << x;
  }
  const auto values = k.read<float>(decoded, 1024);
  const auto expect_same = [](float value, float expected, unsigned code) {
    EXPECT_TRUE(std::bit_cast<unsigned>(value) == std::bit_cast<unsigned>(expected) ||
                (std::isnan(value) && std::isnan(expected)))
        << code << ": " << value << " instead of " << expected;
  };
  for (unsigned i = 0; i < 256; ++i) {
    const auto code = static_cast<std::uint8_t>(i);
    expect_same(values[i], templates::float_from_fp8(code), i);
    expect_same(values[256 + i], templates::float_from_e8m0(code), i);
    expect_same(values[512 + 2 * i], 4 * templates::float_from_fp4(code & 0xF), i);
    expect_same(values[513 + 2 * i], 4 * templates::float_from_fp4(code >> 4), i);
  }
}

}  // namespace
}  // namespace wavetune::hip
