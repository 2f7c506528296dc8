#include "templates/operator.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "db/base/error.h"
#include "db/base/hash.h"
#include "templates/embedded.h"
#include "templates/quick_compare.h"

namespace wavetune::templates {
namespace {

/// Deviation of one element in units of the tolerance.
double deviation(double got, double expected, const Tolerance& tolerance, bool integer) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  if (got == expected) return 0.0;  // also equal infinities: scores of masked positions
  if (integer || !std::isfinite(got) || !std::isfinite(expected)) return infinite;
  const double limit = tolerance.absolute + tolerance.relative * std::fabs(expected);
  return limit > 0.0 ? std::fabs(got - expected) / limit : infinite;
}

}  // namespace

Comparison Operator::compare(const Problem& problem, std::span<const HostTensor> got,
                             std::span<const HostTensor> expected) const {
  const std::vector<OperandSpec> specs = operands(problem);
  const Tolerance limit = tolerance(problem);
  Comparison result;
  for (std::size_t t = 0; t < specs.size(); ++t) {
    const OperandSpec& spec = specs[t];
    if (spec.role != Role::output && spec.role != Role::inout) continue;
    if (const auto worst = quick_worst(got[t], expected[t], limit); worst && *worst <= 1.0) {
      result.worst = std::max(result.worst, *worst);
      continue;
    }
    const bool integer = is_integer(spec.dtype);
    for (std::int64_t i = 0; i < spec.count(); ++i) {
      const double g = got[t].at(i);
      const double e = expected[t].at(i);
      const double d = deviation(g, e, limit, integer);
      if (d <= result.worst) continue;
      result.worst = d;
      if (d > 1.0) {
        result.message = fmt::format("{}[{},{},{}] is {} instead of {} ({:.3g} x the tolerance)", spec.name,
                                     i / (spec.rows * spec.cols), i / spec.cols % spec.rows, i % spec.cols, g, e, d);
      }
      if (std::isinf(d)) return result;
    }
  }
  return result;
}

ComparedOperand Operator::compared(const Problem& problem, std::size_t index) const {
  const Role role = operands(problem).at(index).role;
  const bool looked_at = role == Role::output || role == Role::inout;
  return {looked_at ? Compared::elements : Compared::not_at_all, tolerance(problem)};
}

std::vector<ResourceEstimate> Operator::estimate(const Problem& problem, const Config& config,
                                                 const DeviceLimits& limits) const {
  std::vector<ResourceEstimate> estimates;
  for (const Launch& launch : dry_launches(*this, problem, config)) {
    ResourceEstimate estimate;
    estimate.kernel = launch.kernel;
    estimate.threads = static_cast<int>(launch.block[0] * launch.block[1] * launch.block[2]);
    estimate.lds_bytes =
        static_cast<int>(launch.lds_bytes) + static_cast<int>(static_lds_bytes(problem, config, launch.kernel, limits));
    estimates.push_back(std::move(estimate));
  }
  return estimates;
}

std::vector<Launch> dry_launches(const Operator& op, const Problem& problem, const Config& config) {
  // An address that nothing reads; its alignment is that of hipMalloc.
  void* const nowhere = reinterpret_cast<void*>(std::uintptr_t{1} << 20);
  const std::vector<OperandSpec> specs = arranged_operands(op, problem, config);
  const std::vector<void*> buffers(specs.size(), nowhere);
  const std::vector<View> views = dense_views(specs, buffers);
  const Scalars scalars = op.default_scalars(problem);
  return op.launches(config, {&problem, views, &scalars, nowhere});
}

std::string source_hash(const Operator& op) {
  std::string all = fmt::format("{} version {}\n", op.name(), op.version());
  const auto append = [&all](std::string_view path, std::string_view text) {
    all += fmt::format("{} {}\n", path, text.size());
    all += text;
  };
  for (const auto& [path, text] : embedded_sources()) {
    if (path.starts_with("templates/prelude/")) append(path, text);
  }
  for (const SourceText& source : op.sources()) append(source.path, source.text);
  return content_hash(all);
}

std::string kernel_source(const Operator& op, const Problem& problem, const Config& config) {
  return op.source(problem, config);
}

std::vector<SourceText> Operator::sources() const {
  std::vector<SourceText> texts;
  for (const std::string& path : source_files()) texts.push_back({path, std::string(embedded_source(path))});
  return texts;
}

std::string Operator::source(const Problem& problem, const Config& config) const {
  std::string source = "namespace cfg {\n";
  for (const auto& [name, value] : constants(problem, config)) {
    source += fmt::format("constexpr int {} = {};\n", name, value);
  }
  source += "}  // namespace cfg\n";
  for (const std::string& path : kernel_files(config)) {
    // Compiler messages then name the file below the repository, not a line of the assembled unit.
    source += fmt::format("#line 1 \"{}\"\n", path);
    source += embedded_source(path);
    if (!source.ends_with('\n')) source += '\n';
  }
  return source;
}

InputOutput split_dtype(std::string_view text) {
  const std::size_t bar = text.find('_');
  const std::optional<DType> input = dtype_from_string(text.substr(0, bar));
  const std::optional<DType> output = bar == std::string_view::npos ? input : dtype_from_string(text.substr(bar + 1));
  if (!input || !output) {
    fail(ErrorKind::usage, "'{}' is not a number format: expected f32, bf16, f16, i32, i64, u8 or input_output", text);
  }
  return {*input, *output};
}

std::vector<View> dense_views(std::span<const OperandSpec> specs, std::span<void* const> buffers) {
  if (specs.size() != buffers.size()) {
    fail(ErrorKind::internal, "{} buffers for {} operands", buffers.size(), specs.size());
  }
  std::vector<View> views;
  views.reserve(specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    views.push_back({buffers[i], specs[i].cols, specs[i].rows * specs[i].cols});
  }
  return views;
}

}  // namespace wavetune::templates
