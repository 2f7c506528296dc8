#include "templates/quantize/quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "db/base/error.h"
#include "templates/common/norm.h"
#include "templates/fill.h"
#include "templates/formats.h"

namespace wavetune::templates {
namespace {

/// Layout of Params in quantize.hip.
struct Params {
  const void* x;
  void* q;
  void* scale;
  std::int64_t x_row, q_row, scale_row;
  std::int32_t m, k, groups;
  std::int32_t aligned;
};

struct Scheme {
  std::string_view dtype;
  DType code, scale;
  std::int64_t group;  ///< elements that share a scale; 0: the whole row
  bool scales_by_row;  ///< scale [m, groups] instead of [groups, m]
};
constexpr Scheme schemes[] = {{"fp8_block", DType::fp8, DType::f32, fp8_group, false},
                              {"fp8_token", DType::fp8, DType::f32, 0, false},
                              {"mxfp4", DType::fp4, DType::e8m0, mx_block, true}};

const Scheme* find_scheme(std::string_view dtype) {
  const auto* found = std::ranges::find(schemes, dtype, &Scheme::dtype);
  return found == std::end(schemes) ? nullptr : found;
}

struct Dims {
  explicit Dims(const Problem& problem) : m(problem.dim("m")), k(problem.dim("k")), scheme(find_scheme(problem.dtype)) {
    if (scheme == nullptr) fail(ErrorKind::internal, "quantize has no number format '{}'", problem.dtype);
  }
  std::int64_t m, k;
  const Scheme* scheme;
  std::int64_t group() const { return scheme->group == 0 ? k : scheme->group; }
  std::int64_t groups() const { return ceil_div(k, group()); }
};

class Quantize final : public Operator {
 public:
  std::string_view name() const override { return "quantize"; }
  std::vector<DType> dtypes() const override { return {DType::bf16}; }

  void check(const Problem& problem) const override {
    if (find_scheme(problem.dtype) == nullptr) {
      fail(ErrorKind::usage, "quantize has no number format '{}'; it has: fp8_block, fp8_token, mxfp4", problem.dtype);
    }
    Problem input = problem;
    input.dtype = "bf16";
    check_shape(*this, input, {{"m", 1, max_rows}, {"k", 1, max_cols}});
    const Dims d(problem);
    if (d.scheme->code == DType::fp4 && d.k % d.scheme->group != 0) {
      fail(ErrorKind::usage, "quantize: k={} is no whole number of MX blocks of {}", d.k, d.scheme->group);
    }
    if (d.m * d.groups() > std::numeric_limits<std::int32_t>::max()) {
      fail(ErrorKind::usage, "quantize: m={}, k={} are more groups than 32 bits count", d.m, d.k);
    }
  }

  std::vector<OperandSpec> operands(const Problem& problem) const override {
    const Dims d(problem);
    const bool by_row = d.scheme->scales_by_row;
    return {{"x", Role::input, DType::bf16, 1, d.m, d.k},
            {"q", Role::output, d.scheme->code, 1, d.m, d.k},
            {"scale", Role::output, d.scheme->scale, 1, by_row ? d.m : d.groups(), by_row ? d.groups() : d.m}};
  }

  Space space(const Problem& problem, const DeviceLimits& limits) const override {
    const std::int64_t group = Dims(problem).scheme->group;
    Space space;
    if (is_cpu(limits)) {
      space.add("threads", {4, 16, 64}).add("threads_per_row", {1});
    } else {
      space.add("threads", {64, 128, 256, 512, 1024});
      space.add("threads_per_row", group == 0 ? std::vector<std::int64_t>{16, 64, 128, 256, 512, 1024}
                                              : std::vector<std::int64_t>{4, 8, 16, 32, 64});
    }
    space.add("vec", {2, 4, 8});
    space.require("the threads of a group fit in a block", {"threads", "threads_per_row"}, [](const Config& config) {
      return parameter(config, "threads_per_row") <= parameter(config, "threads");
    });
    space.require("the block fits the device", {"threads"}, [most = limits.max_block_threads](const Config& config) {
      return parameter(config, "threads") <= most;
    });
    space.require("every thread of a group has elements", {"threads_per_row", "vec"}, [group](const Config& config) {
      return group == 0 || parameter(config, "threads_per_row") * parameter(config, "vec") <= group;
    });
    return space;
  }
  Config default_config(const Problem& problem, const DeviceLimits& limits) const override {
    if (is_cpu(limits)) return {{"threads", 4}, {"threads_per_row", 1}, {"vec", 8}};
    const std::int64_t group = Dims(problem).scheme->group;
    return {{"threads", 256}, {"threads_per_row", group == 0 ? 256 : group / 8}, {"vec", 8}};
  }

  std::vector<std::string> source_files() const override {
    return {"templates/common/start.hip", "templates/common/rows.hip", "templates/quantize/quantize.hip"};
  }
  db::NamedInts constants(const Problem& problem, const Config& config) const override {
    const Scheme& scheme = *Dims(problem).scheme;
    return with_constants(
        config, {{"fp4", scheme.code == DType::fp4}, {"group", scheme.group}, {"scale_rows", scheme.scales_by_row}});
  }

  std::int64_t static_lds_bytes(const Problem&, const Config& config, std::string_view,
                                const DeviceLimits& limits) const override {
    return norm_lds_bytes(config, limits);
  }
  std::vector<Launch> launches(const Config& config, const Call& call) const override {
    const Dims d(*call.problem);
    const std::int64_t vec = parameter(config, "vec");
    const View &x = call.operands[0], &q = call.operands[1], &scale = call.operands[2];
    const bool aligned = vector_aligned(x, DType::bf16, vec) && vector_aligned(q, d.scheme->code, vec);
    Launch launch = norm_launch("quantize_main", config, d.m * d.groups());
    launch.params = pack(Params{x.data, q.data, scale.data, x.row_stride, q.row_stride, scale.row_stride,
                                static_cast<std::int32_t>(d.m), static_cast<std::int32_t>(d.k),
                                static_cast<std::int32_t>(d.groups()), aligned});
    return {launch};
  }

  void fill(const Problem& problem, std::mt19937_64& random, std::span<HostTensor> tensors) const override {
    const Dims d(problem);
    fill_normal(tensors[0], random);
    for (std::int64_t row = 0; row < d.m; ++row) {
      // Rows differ in magnitude, and some groups are zeros.
      const double factor = std::ldexp(1.0, static_cast<int>(row * 5 % 23) - 11);
      for (std::int64_t col = 0; col < d.k; ++col) {
        const bool zero = (row + col / d.group()) % 7 == 6;
        const std::int64_t at = row * d.k + col;
        tensors[0].set(at, zero ? 0.0 : factor * tensors[0].at(at));
      }
    }
  }

  void reference(const Problem& problem, const Scalars&, std::span<HostTensor> tensors) const override {
    const Dims d(problem);
    const std::span<std::uint8_t> codes = tensors[1].as<std::uint8_t>();
    std::vector<float> values(static_cast<std::size_t>(d.group()));
    for (std::int64_t row = 0; row < d.m; ++row) {
      for (std::int64_t group = 0; group < d.groups(); ++group) {
        const std::int64_t begin = row * d.k + group * d.group();
        const auto count = static_cast<std::size_t>(std::min(d.group(), d.k - group * d.group()));
        for (std::size_t i = 0; i < count; ++i) {
          values[i] = static_cast<float>(tensors[0].at(begin + static_cast<std::int64_t>(i)));
        }
        const std::span<const float> part = std::span(values).first(count);
        if (d.scheme->code == DType::fp4) {
          const auto packed = codes.subspan(static_cast<std::size_t>(begin) / 2, count / 2);
          tensors[2].as<std::uint8_t>()[static_cast<std::size_t>(row * d.groups() + group)] =
              quantize_mxfp4(part, packed);
        } else {
          tensors[2].as<float>()[static_cast<std::size_t>(group * d.m + row)] =
              quantize_fp8(part, codes.subspan(static_cast<std::size_t>(begin), count));
        }
      }
    }
  }

  /// The same operations in the same order: equal to the bit.
  Tolerance tolerance(const Problem&) const override { return {0.0, 0.0}; }

  Cost cost(const Problem& problem) const override {
    const Dims d(problem);
    const double elements = static_cast<double>(d.m) * static_cast<double>(d.k);
    const double scales = static_cast<double>(d.m) * static_cast<double>(d.groups());
    const auto bits = static_cast<double>(bits_of(DType::bf16) + bits_of(d.scheme->code));
    return {(elements * bits + scales * static_cast<double>(bits_of(d.scheme->scale))) / 8.0, 3.0 * elements};
  }
};

}  // namespace

const Operator& quantize_operator() {
  static const Quantize instance;
  return instance;
}

}  // namespace wavetune::templates
