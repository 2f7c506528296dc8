#include "templates/grouped_gemm/grouped_gemm.h"

#include <algorithm>
#include <cmath>

#include "db/base/error.h"
#include "templates/gemm/nvidia.h"
#include "templates/gemm/product.h"
#include "templates/gemm/scaling.h"
#include "templates/grouped_gemm/matrix_launch.h"
#include "templates/grouped_gemm/reference.h"
#include "templates/grouped_gemm/stream_launch.h"
#include "templates/grouped_gemm/warpgroup_launch.h"

namespace wavetune::templates {
namespace {

/// Layout of Params in grouped_gemm.hip.
struct Params {
  const void* x;
  const void* w;
  const void* order;
  const void* offsets;
  void* out;
  void* partial;
  std::int64_t x_row, w_row, w_batch, out_row;
  std::int32_t pairs, experts, n, k;
  std::int32_t k_part, parts;
  std::int32_t slots, by_row;
  std::int32_t aligned;
};

ProductShape shape_of(const GroupedDims& d) {
  return {d.format.x, static_cast<int>(d.parts()), ceil_div(d.pairs(), d.experts), d.n, d.k};
}

class GroupedGemm final : public Operator {
 public:
  std::string_view name() const override { return "grouped_gemm"; }
  std::vector<DType> dtypes() const override { return {DType::f32, DType::bf16}; }

  void check(const Problem& problem) const override {
    Problem input = problem;
    // The number formats of the matrix paths are not element types: the dimensions are checked as those of bf16.
    if (matrix_format(problem.dtype)) input.dtype = "bf16";
    check_shape(*this, input,
                {{"m", 1, max_rows},
                 {"topk", 1, 64},
                 {"experts", 1, 4096},
                 {"n", 1, max_cols},
                 {"k", 1, max_cols},
                 {"swiglu", 0, 1}});
    const GroupedDims d(problem);
    if (d.topk > d.experts)
      fail(ErrorKind::usage, "grouped_gemm: topk={} is larger than experts={}", d.topk, d.experts);
    if (d.pairs() > max_rows)
      fail(ErrorKind::usage, "grouped_gemm: m*topk={} is out of range; at most {}", d.pairs(), max_rows);
    if (!d.format.quantised()) return;
    const std::int64_t unit = d.format.w == DType::fp4 ? 32 : 16;
    if (d.k % unit != 0 || d.k < 64 || d.n % 32 != 0) {
      fail(ErrorKind::usage, "grouped_gemm in {}: k={} must be a multiple of {} and at least 64, n={} one of 32",
           problem.dtype, d.k, unit, d.n);
    }
    if (d.format.scale_w == Scaling::row) {
      fail(ErrorKind::usage, "grouped_gemm takes no weights with a scale for each channel ({})", problem.dtype);
    }
  }

  std::vector<OperandSpec> operands(const Problem& problem) const override {
    const GroupedDims d(problem);
    const MatrixFormat& format = d.format;
    std::vector<OperandSpec> specs{{"x", Role::input, format.x, 1, d.x_rows(), d.k}};
    if (format.scale_x != Scaling::none) {
      specs.push_back(scale_spec("x_scale", format.scale_x, Side::activations, 1, d.x_rows(), d.k));
    }
    specs.push_back({"w", Role::input, format.w, d.experts, d.parts() * d.n, d.k});
    if (format.scale_w != Scaling::none) {
      specs.push_back(scale_spec("w_scale", format.scale_w, Side::weights, d.experts, d.parts() * d.n, d.k));
    }
    specs.push_back({"order", Role::input, DType::i32, 1, 1, d.pairs()});
    specs.push_back({"offsets", Role::input, DType::i32, 1, 1, d.experts + 1});
    specs.push_back({"out", Role::output, format.out, 1, d.pairs(), d.n});
    return specs;
  }

  Space space(const Problem& problem, const DeviceLimits& limits) const override {
    const GroupedDims d(problem);
    if (on_matrix_paths(d, problem, limits)) {
      return matrix_space(d.format, grouped_matrix_shape(d), limits).add("slots_first", {0, 1});
    }
    return product_space(shape_of(d), limits).add("slots_first", {0, 1});
  }
  Config default_config(const Problem& problem, const DeviceLimits& limits) const override {
    const GroupedDims d(problem);
    const Config config = on_matrix_paths(d, problem, limits)
                              ? matrix_default(d.format, grouped_matrix_shape(d), limits)
                              : product_default(shape_of(d), limits);
    return with_constants(config, {{"slots_first", 1}});
  }

  std::vector<std::string> source_files() const override {
    std::vector<std::string> files{"templates/gemm/product.hip", slots_file, "templates/grouped_gemm/grouped_gemm.hip",
                                   "templates/grouped_gemm/grouped_matrix.hip"};
    for (std::string& file : matrix_files()) files.push_back(std::move(file));
    for (std::string& file : nvidia_files(folder, kernels, false)) files.push_back(std::move(file));
    return files;
  }
  std::vector<std::string> kernel_files(const Config& config) const override {
    if (!is_matrix_path(config)) {
      return {"templates/gemm/product.hip", slots_file, "templates/grouped_gemm/grouped_gemm.hip"};
    }
    if (is_nvidia_path(config)) {
      std::vector<std::string> files = nvidia_files(config, folder, kernels);
      const auto kernel = std::ranges::find_if(files, [](const std::string& file) { return file.starts_with(folder); });
      files.insert(kernel, slots_file);
      return files;
    }
    std::vector<std::string> files = matrix_files(config);
    files.emplace_back(slots_file);
    files.emplace_back("templates/grouped_gemm/grouped_matrix.hip");
    return files;
  }
  db::NamedInts constants(const Problem& problem, const Config& config) const override {
    const GroupedDims d(problem);
    const db::NamedInts paths = is_matrix_path(config) ? matrix_constants(d.format, grouped_matrix_shape(d), config)
                                                       : product_constants(config, d.format.x);
    return with_constants(paths,
                          {{"swiglu", d.swiglu}, {"topk", d.topk}, {"slots_first", parameter(config, "slots_first")}});
  }

  Arrangement arrangement(const Problem& problem, const Config& config, std::size_t index) const override {
    if (!is_matrix_path(config)) return Arrangement::rows;
    const GroupedDims d(problem);
    const GroupedOperands at(d.format);
    const auto i = static_cast<int>(index);
    if (i == at.w && parameter(config, "shuffled") == 1) return Arrangement::shuffled_weights;
    const bool mx =
        (i == at.scale_x && d.format.scale_x == Scaling::mx) || (i == at.scale_w && d.format.scale_w == Scaling::mx);
    return mx ? Arrangement::shuffled_scales : Arrangement::rows;
  }
  std::int64_t row_alignment(const Problem&, const Config& config) const override {
    return is_matrix_path(config) ? 16 : 1;
  }
  std::int64_t static_lds_bytes(const Problem& problem, const Config& config, std::string_view kernel,
                                const DeviceLimits&) const override {
    if (!is_matrix_path(config) || kernel != "grouped_gemm_main") return 0;
    return is_nvidia_path(config) ? nvidia_static_lds_bytes(config)
                                  : matrix_lds_bytes(GroupedDims(problem).format, config);
  }

  std::int64_t workspace_bytes(const Problem& problem, const Config& config) const override {
    const GroupedDims d(problem);
    const std::int64_t split = parameter(config, "split_k");
    if (is_nvidia_path(config)) return 0;
    return split == 1 ? 0 : 4 * split * d.pairs() * d.parts() * d.n;
  }

  std::vector<Launch> launches(const Config& config, const Call& call) const override {
    const GroupedDims d(*call.problem);
    if (is_nvidia_path(config)) {
      return parameter(config, "path") == matrix_path::stream ? grouped_stream_launches(d, config, call)
                                                              : grouped_warpgroup_launches(d, config, call);
    }
    if (is_matrix_path(config)) return grouped_matrix_launches(d, config, call);
    const View &x = call.operands[0], &w = call.operands[1], &out = call.operands[4];
    const std::int64_t vec = parameter(config, "vec"), bm = parameter(config, "bm");
    const bool split = parameter(config, "split_k") > 1;
    const std::int64_t k_part = product_k_part(config, d.k);
    const std::int64_t parts = ceil_div(d.k, k_part);
    const std::int64_t slots = d.slots(bm);
    const bool aligned = vector_aligned(x, d.format.x, vec) && vector_aligned(w, d.format.w, vec);
    const auto i32 = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
    const auto u32 = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
    const Params params{x.data,
                        w.data,
                        call.operands[2].data,
                        call.operands[3].data,
                        out.data,
                        split ? call.workspace : nullptr,
                        x.row_stride,
                        w.row_stride,
                        w.batch_stride,
                        out.row_stride,
                        i32(d.pairs()),
                        i32(d.experts),
                        i32(d.n),
                        i32(d.k),
                        i32(k_part),
                        i32(parts),
                        i32(slots),
                        d.slots_by_row(bm) ? 1 : 0,
                        aligned ? 1 : 0};
    const std::int64_t tiles_n = ceil_div(d.n, parameter(config, "bn"));
    std::vector<Launch> result;
    result.push_back({"grouped_gemm_main",
                      {u32(slots * tiles_n), u32(parts), 1},
                      {u32(product_threads(config)), 1, 1},
                      u32(product_lds_bytes(config, d.format.x, static_cast<int>(d.parts()))),
                      pack(params)});
    if (split) {
      constexpr std::int64_t per_block = 256 * 8;  // as in grouped_gemm_reduce
      result.push_back(
          {"grouped_gemm_reduce", {u32(ceil_div(d.pairs() * d.n, per_block)), 1, 1}, {256, 1, 1}, 0, pack(params)});
    }
    return result;
  }

  void fill(const Problem& problem, std::mt19937_64& random, std::span<HostTensor> tensors) const override {
    grouped_gemm_fill(GroupedDims(problem), random, tensors);
  }
  void reference(const Problem& problem, const Scalars&, std::span<HostTensor> tensors) const override {
    grouped_gemm_reference(GroupedDims(problem), tensors);
  }
  std::optional<Launch> reference_launch(const Problem& problem, std::span<void* const> buffers) const override {
    return grouped_gemm_reference_launch(GroupedDims(problem), buffers);
  }
  ReferenceSample reference_sample(const Problem& problem, std::span<const HostTensor> inputs) const override {
    return grouped_gemm_reference_sample(GroupedDims(problem), inputs);
  }
  Tolerance tolerance(const Problem& problem) const override {
    const MatrixFormat format = GroupedDims(problem).format;
    Tolerance limit = product_tolerance(format.x == DType::f32 ? DType::f32 : DType::bf16, format.out);
    // silu(g) * u with outliers in both: the error of one factor is scaled by the other.
    limit.absolute *= 4;
    return limit;
  }

  Cost cost(const Problem& problem) const override {
    const GroupedDims d(problem);
    const auto experts = static_cast<double>(d.experts), topk = static_cast<double>(d.topk);
    // Experts that at least one of m tokens chooses, expected for uniform routing: E (1 - (1 - topk / E)^m).
    const double touched = experts * (1.0 - std::pow(1.0 - topk / experts, static_cast<double>(d.m)));
    const double weights = static_cast<double>(d.parts() * d.n) * static_cast<double>(d.k);
    double bytes = 0;
    const std::vector<OperandSpec> specs = operands(problem);
    const GroupedOperands at(d.format);
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const auto place = static_cast<int>(i);
      const bool of_experts = place == at.w || place == at.scale_w;
      bytes += static_cast<double>(specs[i].count()) * static_cast<double>(bits_of(specs[i].dtype)) / 8.0 *
               (of_experts ? touched / experts : 1.0);
    }
    return {bytes, 2.0 * static_cast<double>(d.pairs()) * weights};
  }

 private:
  static constexpr const char* folder = "templates/grouped_gemm";
  static constexpr const char* kernels = "grouped";
  static constexpr const char* slots_file = "templates/grouped_gemm/slots.hip";

  static bool on_matrix_paths(const GroupedDims& d, const Problem& problem, const DeviceLimits& limits) {
    const bool rows_of_16 = d.n % 16 == 0;  // gate's and up's rows begin at whole shuffled tiles
    const bool able = matrix_format(problem.dtype).has_value() && rows_of_16 &&
                      has_matrix_paths(d.format, grouped_matrix_shape(d), limits);
    if (d.format.quantised() && !able) {
      fail(ErrorKind::usage, "grouped_gemm in {} has no kernel for {}: its matrix instructions do not take that format",
           problem.dtype, limits.arch);
    }
    return able;
  }
};

}  // namespace

const Operator& grouped_gemm_operator() {
  static const GroupedGemm op;
  return op;
}

}  // namespace wavetune::templates
