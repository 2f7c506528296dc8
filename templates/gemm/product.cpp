#include "templates/gemm/product.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>

namespace wavetune::templates {
namespace {

using namespace product_path;

bool is_matrix(std::int64_t path) { return path == matrix || path == matrix_direct; }

/// Elements of one 16-byte access: what the matrix path moves at a time.
std::int64_t run_of(DType type) { return 16 / static_cast<std::int64_t>(size_of(type)); }

/// A configuration's parameters, by field.
struct Tile {
  explicit Tile(const Config& c)
      : path(c.at("path")),
        bm(c.at("bm")),
        bn(c.at("bn")),
        bk(c.at("bk")),
        tm(c.at("tm")),
        tn(c.at("tn")),
        vec(c.at("vec")) {}
  std::int64_t path, bm, bn, bk, tm, tn, vec;
};

bool path_fits_tile(const Tile& t) {
  if (is_matrix(t.path)) return t.tm % 16 == 0 && t.tn % 16 == 0;
  if (t.path == staged) return t.tm >= 2 && t.tn >= 4;
  return t.tm <= 8 && t.tn <= 8;
}

bool step_fits_path(const Tile& t, DType type) {
  switch (t.path) {
    case direct:
      return t.bk % t.vec == 0 && t.bk <= 4 * t.vec;
    case shared_k:
      return t.bk % (32 * t.vec) == 0 && t.bk <= 2 * 32 * t.vec;
    case staged:
      return t.bk % t.vec == 0 && t.bk <= 128;
    case matrix:
      return t.vec == run_of(type) && t.bk % (4 * t.vec) == 0 && t.bk <= 256;
    default:
      return t.bk % (4 * t.vec) == 0 && t.bk <= 4 * 4 * t.vec;
  }
}

/// Registers of one thread for accumulators and fragments, in 32-bit words (on a CPU: floats of its vector registers).
bool fits_registers(const Tile& t, int parts, DType type, bool cpu) {
  if (is_matrix(t.path)) {
    const std::int64_t tiles_m = t.tm / 16, tiles_n = parts * t.tn / 16;
    const std::int64_t run =
        t.path == matrix ? run_of(type) : t.vec * std::clamp<std::int64_t>(t.bk / (4 * t.vec), 1, 2);
    const std::int64_t fragments = (tiles_m + tiles_n) * run * static_cast<std::int64_t>(size_of(type)) / 4;
    return 4 * tiles_m * tiles_n <= 128 && fragments <= 128;
  }
  if (t.path == staged) return parts * t.tm * t.tn <= (cpu ? 256 : 128);
  // 32 vector registers: the sums, one vector of each row of A, and one of B.
  if (cpu) return parts * t.tm * t.tn + t.tm + 1 <= 32;
  return parts * t.tm * t.tn * t.vec <= 128;
}

/// NVIDIA: a block's threads share 65536 registers. Beside the sums there are what is on its way from memory, addresses
/// of rows, and about 40 for the rest.
bool fits_register_file(const Tile& t, int parts, DType type, std::int64_t threads) {
  constexpr std::int64_t file = 65536, most = 255, rest = 40;
  const std::int64_t rows = t.tm + parts * t.tn;
  const bool staged_path = t.path == staged;
  const std::int64_t sums = parts * t.tm * t.tn * (staged_path ? 1 : t.vec);
  const std::int64_t words = t.vec * static_cast<std::int64_t>(size_of(type)) / 4;
  const std::int64_t operands =
      staged_path ? rows : rows * (2 + words * std::max<std::int64_t>(1, t.bk / (32 * t.vec)));
  return sums + operands + rest <= std::min(most, file / threads);
}

}  // namespace

std::int64_t product_threads(const Config& config) {
  const Tile t(config);
  const std::int64_t workers = (t.bm / t.tm) * (t.bn / t.tn);
  return workers * (is_matrix(t.path) ? 64 : t.path == shared_k ? 32 : 1);
}

std::int64_t product_lds_bytes(const Config& config, DType type, int parts) {
  const Tile t(config);
  if (t.path == staged) return 4 * t.bk * (t.bm + t.vec + parts * (t.bn + t.vec));
  if (t.path == matrix) return static_cast<std::int64_t>(size_of(type)) * (t.bk + run_of(type)) * (t.bm + parts * t.bn);
  return 0;
}

Space product_space(const ProductShape& shape, const DeviceLimits& limits) {
  const bool cpu = is_cpu(limits);
  const bool has_matrix = limits.wave_size == 64;  // wt::mma16 has the register layout of 64 lanes
  Space space;
  if (cpu) {
    // Barriers and shuffles switch fibers there and matrix instructions are imitated: only the paths that can win.
    space.add("path", {direct, staged}).add("bm", {4, 16, 64, 128}).add("bn", {16, 32, 64, 128, 256});
    space.add("bk", {16, 32, 64}).add("tm", {1, 2, 4, 8}).add("tn", {1, 2, 4, 8, 16, 32});
    space.add("vec", {8, 16}).add("split_k", {1, 2, 4});
  } else if (has_matrix) {
    space.add("path", {matrix, matrix_direct, shared_k}).add("bm", {4, 16, 32, 64, 128, 256});
    space.add("bn", {16, 32, 64, 128, 256}).add("bk", {32, 64, 128, 256, 512}).add("tm", {1, 2, 4, 16, 32, 64});
    space.add("tn", {1, 2, 4, 16, 32, 64}).add("vec", {4, 8, 16}).add("split_k", {1, 2, 4, 8, 16});
  } else {
    space.add("path", {staged, shared_k}).add("bm", {4, 16, 32, 64, 128}).add("bn", {16, 32, 64, 128});
    space.add("bk", {8, 16, 32, 128, 256}).add("tm", {1, 2, 4, 8}).add("tn", {1, 2, 4, 8}).add("vec", {4, 8});
    space.add("split_k", {1, 2, 4, 8, 16});
  }
  space.require("worker tiles (tm, tn) divide the block tile (bm, bn)", [](const Config& c) {
    const Tile t(c);
    return t.bm % t.tm == 0 && t.bn % t.tn == 0;
  });
  space.require(
      "tm and tn suit the path: multiples of 16 for matrix instructions, tm >= 2 and tn >= 4 from LDS, <= 8 direct",
      [](const Config& c) { return path_fits_tile(Tile(c)); });
  space.require("bk is one to a few accesses of the path's workers",
                [type = shape.type](const Config& c) { return step_fits_path(Tile(c), type); });
  space.require("sums and fragments fit in registers", [parts = shape.parts, type = shape.type, cpu](const Config& c) {
    return fits_registers(Tile(c), parts, type, cpu);
  });
  if (!cpu && !has_matrix) {
    space.require("the threads of a block fit in a multiprocessor's registers",
                  [parts = shape.parts, type = shape.type](const Config& c) {
                    return fits_register_file(Tile(c), parts, type, product_threads(c));
                  });
  }
  space.require("the block has 1 to the device's limit of threads, on a GPU at least a wave",
                [limits, cpu](const Config& c) {
                  const std::int64_t threads = product_threads(c);
                  // On a CPU with barriers every thread is a fiber.
                  const std::int64_t most = cpu && c.at("path") == staged ? 128 : limits.max_block_threads;
                  return threads <= most && (cpu || threads >= limits.wave_size);
                });
  space.require("A and B tiles fit in LDS", [parts = shape.parts, type = shape.type, most = limits.lds_bytes](
                                                const Config& c) { return product_lds_bytes(c, type, parts) <= most; });
  space.require("the block tile is not much larger than C", [m = shape.m, n = shape.n](const Config& c) {
    return c.at("bn") <= std::max<std::int64_t>(16, power_of_two_above(n)) &&
           c.at("bm") <= std::max<std::int64_t>(64, 2 * m);
  });
  space.require("each part of a split k has at least 128 elements and two steps", [k = shape.k](const Config& c) {
    const std::int64_t split = c.at("split_k");
    return split == 1 || k / split >= std::max<std::int64_t>(128, 2 * c.at("bk"));
  });
  return space;
}

Config product_default(const ProductShape& shape, const DeviceLimits& limits) {
  const std::int64_t widest = std::clamp<std::int64_t>(power_of_two_above(shape.n), 16, 64);
  if (is_cpu(limits)) {
    const std::int64_t rows = shape.m == 1 ? 1 : 4;
    return {{"path", direct}, {"bm", 16},    {"bn", widest}, {"bk", 16}, {"tm", rows}, {"tn", shape.parts == 1 ? 4 : 2},
            {"vec", 16},      {"split_k", 1}};
  }
  if (limits.wave_size != 64) {
    return {{"path", staged}, {"bm", 32}, {"bn", widest}, {"bk", 16}, {"tm", 2}, {"tn", 4}, {"vec", 4}, {"split_k", 1}};
  }
  const bool few = shape.m <= 16;
  return {{"path", matrix},
          {"bm", few ? 16 : 64},
          {"bn", widest},
          {"bk", 64},
          {"tm", few ? 16 : 32},
          {"tn", few || widest < 32 ? 16 : 32},
          {"vec", run_of(shape.type)},
          {"split_k", 1}};
}

db::NamedInts product_constants(const Config& config, DType type) {
  const Tile t(config);
  return {{"dtype", element_code(type)},
          {"path", t.path},
          {"bm", t.bm},
          {"bn", t.bn},
          {"bk", t.bk},
          {"tm", t.tm},
          {"tn", t.tn},
          {"vec", t.vec},
          {"threads", product_threads(config)}};
}

std::int64_t product_k_part(const Config& config, std::int64_t k) {
  const std::int64_t step = std::max<std::int64_t>(64, parameter(config, "bk"));
  return ceil_div(ceil_div(k, parameter(config, "split_k")), step) * step;
}

Tolerance product_tolerance(DType input, DType output) {
  // Float sums in another order: a few hundred units of 2^-24 on terms of unit variance in total, outliers included.
  // bf16 results are one rounding step (2^-7 relative at worst) apart when the sum lies next to a rounding boundary.
  if (output == DType::bf16) return {2e-3, 0x1p-7};
  return input == DType::bf16 ? Tolerance{1e-4, 1e-4} : Tolerance{5e-5, 1e-4};
}

std::vector<float> to_floats(const HostTensor& tensor, std::int64_t begin, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  constexpr std::int64_t grain = std::int64_t{1} << 16;
  tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, count, grain),
                    [&](const tbb::blocked_range<std::int64_t>& range) {
                      for (std::int64_t i = range.begin(); i < range.end(); ++i)
                        values[static_cast<std::size_t>(i)] = static_cast<float>(tensor.at(begin + i));
                    });
  return values;
}

namespace {

// Columns of B that are worked on together: two or one vector registers of doubles for each row.
constexpr std::size_t panel_width = 8;

/// `rows` rows of A times one panel of B, which is [depth][panel_width].
template <std::size_t rows>
inline __attribute__((always_inline)) void multiply_rows(const float* a, const double* panel, std::size_t depth,
                                                         double (&sums)[rows][panel_width]) {
  double local[rows][panel_width] = {};
  for (std::size_t x = 0; x < depth; ++x) {
    for (std::size_t i = 0; i < rows; ++i) {
      const double factor = a[i * depth + x];
      for (std::size_t j = 0; j < panel_width; ++j) local[i][j] += factor * panel[x * panel_width + j];
    }
  }
  for (std::size_t i = 0; i < rows; ++i) std::copy_n(local[i], panel_width, sums[i]);
}

constexpr std::size_t row_group = 4;

/// All rows of A times one panel; `width` columns of it are stored.
inline __attribute__((always_inline)) void multiply_panel_body(const float* a, const double* panel, std::size_t rows,
                                                               std::size_t depth, std::size_t width, double* c,
                                                               std::size_t cols) {
  std::size_t i = 0;
  for (; i + row_group <= rows; i += row_group) {
    double sums[row_group][panel_width];
    multiply_rows<row_group>(a + i * depth, panel, depth, sums);
    for (std::size_t r = 0; r < row_group; ++r) std::copy_n(sums[r], width, c + (i + r) * cols);
  }
  for (; i < rows; ++i) {
    double sums[1][panel_width];
    multiply_rows<1>(a + i * depth, panel, depth, sums);
    std::copy_n(sums[0], width, c + i * cols);
  }
}

using MultiplyPanel = void (*)(const float*, const double*, std::size_t, std::size_t, std::size_t, double*,
                               std::size_t);

void multiply_panel_plain(const float* a, const double* panel, std::size_t rows, std::size_t depth, std::size_t width,
                          double* c, std::size_t cols) {
  multiply_panel_body(a, panel, rows, depth, width, c, cols);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void multiply_panel_avx2(const float* a, const double* panel, std::size_t rows,
                                                             std::size_t depth, std::size_t width, double* c,
                                                             std::size_t cols) {
  multiply_panel_body(a, panel, rows, depth, width, c, cols);
}
#endif

MultiplyPanel multiply_panel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return multiply_panel_avx2;
#endif
  return multiply_panel_plain;
}

}  // namespace

std::vector<double> multiply_transposed(std::span<const float> a, std::span<const float> b, std::int64_t m,
                                        std::int64_t n, std::int64_t k) {
  const auto rows = static_cast<std::size_t>(m), cols = static_cast<std::size_t>(n),
             depth = static_cast<std::size_t>(k);
  std::vector<double> c(rows * cols);
  const MultiplyPanel multiply = multiply_panel();
  // B in panels of neighbouring columns, so that the inner loop runs over them.
  const auto panels = [&](std::size_t begin, std::size_t end) {
    std::vector<double> panel(depth * panel_width);
    for (std::size_t at = begin; at < end; ++at) {
      const std::size_t j0 = at * panel_width;
      const std::size_t width = std::min(panel_width, cols - j0);
      for (std::size_t j = 0; j < width; ++j) {
        for (std::size_t x = 0; x < depth; ++x) panel[x * panel_width + j] = b[(j0 + j) * depth + x];
      }
      multiply(a.data(), panel.data(), rows, depth, width, c.data() + j0, cols);
    }
  };
  const std::size_t count = (cols + panel_width - 1) / panel_width;
  constexpr std::size_t worth_threads = std::size_t{1} << 22;  // multiply-adds
  if (rows * cols * depth < worth_threads) {
    panels(0, count);
  } else {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count),
                      [&](const tbb::blocked_range<std::size_t>& range) { panels(range.begin(), range.end()); });
  }
  return c;
}

}  // namespace wavetune::templates
