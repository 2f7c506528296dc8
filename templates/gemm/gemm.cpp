#include "templates/gemm/gemm.h"

#include <cmath>

#include "db/base/error.h"
#include "templates/common/launch.h"
#include "templates/fill.h"
#include "templates/gemm/matrix.h"
#include "templates/gemm/nvidia.h"
#include "templates/gemm/product.h"
#include "templates/gemm/product_reference.h"
#include "templates/gemm/scaling.h"

namespace wavetune::templates {
namespace {

/// Layout of Params in gemm.hip.
struct Params {
  const void* a;
  const void* b;
  void* c;
  void* partial;
  std::int64_t a_row, a_batch, b_row, b_batch, c_row, c_batch;
  std::int32_t batch, m, n, k;
  std::int32_t k_part, parts, group_m, aligned;
};

/// Operands by name; scales are there when the format has them.
struct Operands {
  explicit Operands(const MatrixFormat& format)
      : scale_a(format.scale_x == Scaling::none ? -1 : 1),
        b(scale_a < 0 ? 1 : 2),
        scale_b(format.scale_w == Scaling::none ? -1 : b + 1),
        c(scale_b < 0 ? b + 1 : scale_b + 1) {}
  int scale_a, b, scale_b, c;
};

struct Dims {
  explicit Dims(const Problem& p)
      : batch(p.dim_or("batch", 1)), m(p.dim("m")), n(p.dim("n")), k(p.dim("k")), format(format_of(p.dtype)) {}
  std::int64_t batch, m, n, k;
  MatrixFormat format;
  ProductShape product() const { return {format.x, 1, m, n, k}; }
  MatrixShape matrix() const { return {batch, m, n, k}; }

 private:
  static MatrixFormat format_of(std::string_view dtype) {
    if (const auto format = matrix_format(dtype)) return *format;
    const InputOutput types = split_dtype(dtype);
    return {types.input, types.input, Scaling::none, Scaling::none, types.output};
  }
};

class Gemm final : public Operator {
 public:
  std::string_view name() const override { return "gemm"; }
  std::vector<DType> dtypes() const override { return {DType::f32, DType::bf16}; }

  void check(const Problem& problem) const override {
    Problem input = problem;
    const auto format = matrix_format(problem.dtype);
    // The number formats of the matrix paths are not element types: the dimensions are checked as those of bf16.
    if (format) input.dtype = "bf16";
    check_shape(*this, input, {{"batch", 1, 65535}, {"m", 1, max_rows}, {"n", 1, max_cols}, {"k", 1, max_cols}});
    if (!format || !format->quantised()) return;
    const std::int64_t unit = format->w == DType::fp4 ? 32 : 16;
    if (problem.dim("k") % unit != 0 || problem.dim("k") < 64) {
      fail(ErrorKind::usage, "gemm in {}: k={} must be a multiple of {} and at least 64", problem.dtype,
           problem.dim("k"), unit);
    }
    if (problem.dim_or("batch", 1) != 1) {
      fail(ErrorKind::usage, "gemm in {}: batch={}; quantised products have no batches", problem.dtype,
           problem.dim("batch"));
    }
  }

  std::vector<OperandSpec> operands(const Problem& problem) const override {
    const Dims d(problem);
    std::vector<OperandSpec> specs{{"a", Role::input, d.format.x, d.batch, d.m, d.k}};
    if (d.format.scale_x != Scaling::none)
      specs.push_back(scale_spec("a_scale", d.format.scale_x, Side::activations, 1, d.m, d.k));
    specs.push_back({"b", Role::input, d.format.w, d.batch, d.n, d.k});
    if (d.format.scale_w != Scaling::none)
      specs.push_back(scale_spec("b_scale", d.format.scale_w, Side::weights, 1, d.n, d.k));
    specs.push_back({"c", Role::output, d.format.out, d.batch, d.m, d.n});
    return specs;
  }

  Space space(const Problem& problem, const DeviceLimits& limits) const override {
    const Dims d(problem);
    if (on_matrix_paths(problem, limits)) return matrix_space(d.format, d.matrix(), limits);
    return product_space(d.product(), limits).add("group_m", {1, 8});
  }
  Config default_config(const Problem& problem, const DeviceLimits& limits) const override {
    const Dims d(problem);
    if (on_matrix_paths(problem, limits)) return matrix_default(d.format, d.matrix(), limits);
    return with_constants(product_default(d.product(), limits), {{"group_m", 8}});
  }

  std::vector<std::string> source_files() const override {
    std::vector<std::string> files{"templates/gemm/product.hip", "templates/gemm/gemm.hip"};
    for (std::string& file : matrix_files()) files.push_back(std::move(file));
    files.emplace_back("templates/gemm/matrix_gemm.hip");
    for (std::string& file : nvidia_files(folder, "gemm", true)) files.push_back(std::move(file));
    return files;
  }
  std::vector<std::string> kernel_files(const Config& config) const override {
    if (!is_matrix_path(config)) return {"templates/gemm/product.hip", "templates/gemm/gemm.hip"};
    if (is_nvidia_path(config)) return nvidia_files(config, folder, "gemm");
    std::vector<std::string> files = matrix_files(config);
    files.emplace_back("templates/gemm/matrix_gemm.hip");
    return files;
  }
  db::NamedInts constants(const Problem& problem, const Config& config) const override {
    const Dims d(problem);
    if (is_matrix_path(config)) return matrix_constants(d.format, d.matrix(), config);
    return with_constants(product_constants(config, d.format.x), {{"out_dtype", element_code(d.format.out)}});
  }

  Arrangement arrangement(const Problem& problem, const Config& config, std::size_t index) const override {
    if (!is_matrix_path(config)) return Arrangement::rows;
    const Dims d(problem);
    const Operands at(d.format);
    const auto i = static_cast<int>(index);
    if (i == at.b && parameter(config, "shuffled") == 1) return Arrangement::shuffled_weights;
    const bool mx =
        (i == at.scale_a && d.format.scale_x == Scaling::mx) || (i == at.scale_b && d.format.scale_w == Scaling::mx);
    return mx ? Arrangement::shuffled_scales : Arrangement::rows;
  }

  std::int64_t row_alignment(const Problem&, const Config& config) const override {
    return is_matrix_path(config) ? 16 : 1;
  }

  std::int64_t workspace_bytes(const Problem& problem, const Config& config) const override {
    const Dims d(problem);
    if (is_matrix_path(config)) return matrix_workspace_bytes(d.matrix(), config);
    const std::int64_t parts = parameter(config, "split_k");
    return parts == 1 ? 0 : 4 * parts * d.batch * d.m * d.n;
  }

  std::int64_t static_lds_bytes(const Problem& problem, const Config& config, std::string_view kernel,
                                const DeviceLimits&) const override {
    if (!is_matrix_path(config) || kernel != "gemm_main") return 0;
    return is_nvidia_path(config) ? nvidia_static_lds_bytes(config) : matrix_lds_bytes(Dims(problem).format, config);
  }

  std::vector<Launch> launches(const Config& config, const Call& call) const override {
    const Dims d(*call.problem);
    if (!is_matrix_path(config)) return product_launches(d, config, call);
    const Operands at(d.format);
    const auto view = [&call](int index) {
      return index < 0 ? View{} : call.operands[static_cast<std::size_t>(index)];
    };
    return matrix_launches(d.format, d.matrix(), config,
                           {view(0), view(at.b), view(at.c), view(at.scale_a), view(at.scale_b), call.workspace});
  }

  void fill(const Problem& problem, std::mt19937_64& random, std::span<HostTensor> tensors) const override {
    const Dims d(problem);
    const Operands at(d.format);
    const auto tensor = [&](int index) { return index < 0 ? nullptr : &tensors[static_cast<std::size_t>(index)]; };
    fill_scaled(tensors[0], tensor(at.scale_a), 1.0, random);
    fill_scaled(*tensor(at.b), tensor(at.scale_b), 1.0 / std::sqrt(static_cast<double>(d.k)), random);
  }

  void reference(const Problem& problem, const Scalars&, std::span<HostTensor> tensors) const override {
    const Dims d(problem);
    const Operands at(d.format);
    const auto tensor = [&](int index) { return index < 0 ? nullptr : &tensors[static_cast<std::size_t>(index)]; };
    for (std::int64_t batch = 0; batch < d.batch; ++batch) {
      const std::vector<float> a =
          scaled_rows(tensors[0], tensor(at.scale_a), d.format.scale_x, Side::activations, batch, d.m, d.k);
      const std::vector<float> b =
          scaled_rows(*tensor(at.b), tensor(at.scale_b), d.format.scale_w, Side::weights, batch, d.n, d.k);
      const std::vector<double> c = multiply_transposed(a, b, d.m, d.n, d.k);
      for (std::int64_t i = 0; i < d.m * d.n; ++i) {
        tensor(at.c)->set(batch * d.m * d.n + i, c[static_cast<std::size_t>(i)]);
      }
    }
  }

  std::optional<Launch> reference_launch(const Problem& problem, std::span<void* const> buffers) const override {
    const Dims d(problem);
    const Operands at(d.format);
    const auto buffer = [&](int index) { return index < 0 ? nullptr : buffers[static_cast<std::size_t>(index)]; };
    return product_reference_launch(
        {d.format, d.batch, d.m, d.m, d.n, d.k},
        {buffer(0), buffer(at.scale_a), buffer(at.b), buffer(at.scale_b), nullptr, nullptr, buffer(at.c)});
  }

  ReferenceSample reference_sample(const Problem& problem, std::span<const HostTensor> inputs) const override {
    const Dims d(problem);
    const Operands at(d.format);
    const auto tensor = [&](int index) { return index < 0 ? nullptr : &inputs[static_cast<std::size_t>(index)]; };
    ReferenceSample sample;
    sample.operand = static_cast<std::size_t>(at.c);
    const std::vector<std::int64_t> columns = spread_over(d.n, sampled_columns);
    // Rows of all batches, one after the other.
    const std::vector<std::int64_t> chosen = spread_over(d.batch * d.m, sampled_rows);
    for (auto first = chosen.begin(); first != chosen.end();) {
      const std::int64_t batch = *first / d.m;
      std::vector<std::int64_t> rows;  // of the batch
      for (; first != chosen.end() && *first / d.m == batch; ++first) {
        rows.push_back(*first % d.m);
        for (const std::int64_t column : columns) sample.indices.push_back(*first * d.n + column);
      }
      const std::vector<float> a =
          chosen_rows(inputs[0], tensor(at.scale_a), d.format.scale_x, Side::activations, batch, d.m, d.k, rows);
      const std::vector<float> b =
          chosen_rows(*tensor(at.b), tensor(at.scale_b), d.format.scale_w, Side::weights, batch, d.n, d.k, columns);
      const std::vector<double> c = multiply_transposed(a, b, std::ssize(rows), std::ssize(columns), d.k);
      sample.values.insert(sample.values.end(), c.begin(), c.end());
    }
    return sample;
  }

  Tolerance tolerance(const Problem& problem) const override {
    const Dims d(problem);
    // Of quantised operands only the sums' order is open: as with bf16.
    Tolerance limit = product_tolerance(d.format.x == DType::f32 ? DType::f32 : DType::bf16, d.format.out);
    // Hopper's matrix instructions add products of fp8 with 13 bits behind the point of the largest of them. Where both
    // operands have an outlier that is much: of 25 million outputs the worst is off by 1.03e-2, in every configuration.
    if (d.format.x == DType::fp8 && d.format.w == DType::fp8) limit.absolute = 1e-2;
    return limit;
  }

  Cost cost(const Problem& problem) const override {
    const Dims d(problem);
    double bytes = 0;
    for (const OperandSpec& spec : operands(problem)) {
      bytes += static_cast<double>(spec.count()) * static_cast<double>(bits_of(spec.dtype)) / 8.0;
    }
    return {bytes, 2.0 * static_cast<double>(d.batch * d.m) * static_cast<double>(d.n * d.k)};
  }

 private:
  static constexpr const char* folder = "templates/gemm";

  static bool on_matrix_paths(const Problem& problem, const DeviceLimits& limits) {
    const Dims d(problem);
    const bool known = matrix_format(problem.dtype).has_value();
    const bool able = known && has_matrix_paths(d.format, d.matrix(), limits);
    if (d.format.quantised() && !able) {
      fail(ErrorKind::usage, "gemm in {} has no kernel for {}: its matrix instructions do not take that format",
           problem.dtype, limits.arch);
    }
    return able;
  }

  static std::vector<Launch> product_launches(const Dims& d, const Config& config, const Call& call) {
    const View &a = call.operands[0], &b = call.operands[1], &c = call.operands[2];
    const std::int64_t vec = parameter(config, "vec");
    const bool split = parameter(config, "split_k") > 1;
    const std::int64_t k_part = product_k_part(config, d.k);
    const std::int64_t parts = ceil_div(d.k, k_part);
    const bool aligned = vector_aligned(a, d.format.x, vec) && vector_aligned(b, d.format.w, vec);
    const auto i32 = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
    const auto u32 = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
    const Params params{a.data,
                        b.data,
                        c.data,
                        split ? call.workspace : nullptr,
                        a.row_stride,
                        a.batch_stride,
                        b.row_stride,
                        b.batch_stride,
                        c.row_stride,
                        c.batch_stride,
                        i32(d.batch),
                        i32(d.m),
                        i32(d.n),
                        i32(d.k),
                        i32(k_part),
                        i32(parts),
                        i32(parameter(config, "group_m")),
                        aligned ? 1 : 0};
    const std::int64_t tiles = ceil_div(d.m, parameter(config, "bm")) * ceil_div(d.n, parameter(config, "bn"));
    std::vector<Launch> result;
    result.push_back({"gemm_main",
                      {u32(tiles), u32(parts), u32(d.batch)},
                      {u32(product_threads(config)), 1, 1},
                      u32(product_lds_bytes(config, d.format.x, 1)),
                      pack(params)});
    if (split) {
      constexpr std::int64_t per_block = 256 * 8;  // as in gemm_reduce
      result.push_back(
          {"gemm_reduce", {u32(ceil_div(d.m * d.n, per_block)), 1, u32(d.batch)}, {256, 1, 1}, 0, pack(params)});
    }
    return result;
  }
};

}  // namespace

const Operator& gemm_operator() {
  static const Gemm op;
  return op;
}

}  // namespace wavetune::templates
