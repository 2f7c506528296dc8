#include "templates/grouped_gemm/reference.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>

#include "templates/common/launch.h"
#include "templates/fill.h"
#include "templates/gemm/product.h"
#include "templates/gemm/product_reference.h"
#include "templates/gemm/scaling.h"

namespace wavetune::templates {
namespace {

/// Different experts for one token. Expert e is chosen about as often as 1 / (1 + e): routers are never balanced, and
/// some experts get nothing.
std::vector<std::int64_t> route(const GroupedDims& d, std::mt19937_64& random) {
  std::vector<std::int64_t> chosen;
  while (static_cast<std::int64_t>(chosen.size()) < d.topk) {
    const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
    const double skewed = std::pow(static_cast<double>(d.experts) + 1.0, unit) - 1.0;
    std::int64_t expert = std::min(d.experts - 1, static_cast<std::int64_t>(skewed));
    while (std::ranges::find(chosen, expert) != chosen.end()) expert = (expert + 1) % d.experts;
    chosen.push_back(expert);
  }
  return chosen;
}

MatrixFormat format_of(const Problem& problem) {
  if (const auto format = matrix_format(problem.dtype)) return *format;
  const DType type = element_type(problem);
  return {type, type, Scaling::none, Scaling::none, type};
}

HostTensor* at(std::span<HostTensor> tensors, int index) {
  return index < 0 ? nullptr : &tensors[static_cast<std::size_t>(index)];
}

}  // namespace

GroupedDims::GroupedDims(const Problem& p)
    : m(p.dim("m")),
      topk(p.dim("topk")),
      experts(p.dim("experts")),
      n(p.dim("n")),
      k(p.dim("k")),
      swiglu(p.dim("swiglu")),
      format(format_of(p)) {}

void grouped_gemm_fill(const GroupedDims& d, std::mt19937_64& random, std::span<HostTensor> tensors) {
  const GroupedOperands places(d.format);
  fill_scaled(tensors[0], at(tensors, places.scale_x), 1.0, random);
  fill_scaled(*at(tensors, places.w), at(tensors, places.scale_w), 1.0 / std::sqrt(static_cast<double>(d.k)), random);
  std::vector<std::int64_t> expert_of_pair;
  for (std::int64_t token = 0; token < d.m; ++token) {
    for (const std::int64_t expert : route(d, random)) expert_of_pair.push_back(expert);
  }
  std::vector<std::int64_t> order(expert_of_pair.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {},
                           [&](std::int64_t pair) { return expert_of_pair[static_cast<std::size_t>(pair)]; });
  for (std::size_t s = 0; s < order.size(); ++s) {
    at(tensors, places.order)->set(static_cast<std::int64_t>(s), static_cast<double>(order[s]));
  }
  // Pairs of experts below each.
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(d.experts) + 1);
  for (const std::int64_t expert : expert_of_pair) ++offsets[static_cast<std::size_t>(expert) + 1];
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  for (std::size_t expert = 0; expert < offsets.size(); ++expert) {
    at(tensors, places.offsets())->set(static_cast<std::int64_t>(expert), static_cast<double>(offsets[expert]));
  }
}

void grouped_gemm_reference(const GroupedDims& d, std::span<HostTensor> tensors) {
  const GroupedOperands places(d.format);
  const auto order = at(tensors, places.order)->as<std::int32_t>();
  const auto offsets = at(tensors, places.offsets())->as<std::int32_t>();
  const auto depth = static_cast<std::size_t>(d.k);
  const std::vector<float> x =
      scaled_rows(tensors[0], at(tensors, places.scale_x), d.format.scale_x, Side::activations, 0, d.x_rows(), d.k);
  const std::int64_t columns = d.parts() * d.n;
  tbb::parallel_for(std::int64_t{0}, d.experts, [&](std::int64_t expert) {
    const std::int64_t begin = offsets[static_cast<std::size_t>(expert)],
                       end = offsets[static_cast<std::size_t>(expert) + 1];
    if (begin == end) return;
    std::vector<float> rows;
    for (std::int64_t s = begin; s < end; ++s) {
      const std::int64_t row = d.swiglu != 0 ? order[static_cast<std::size_t>(s)] / d.topk : s;
      const auto from = x.begin() + static_cast<std::ptrdiff_t>(row * d.k);
      rows.insert(rows.end(), from, from + static_cast<std::ptrdiff_t>(depth));
    }
    const std::vector<float> w = scaled_rows(*at(tensors, places.w), at(tensors, places.scale_w), d.format.scale_w,
                                             Side::weights, expert, columns, d.k);
    const std::vector<double> product = multiply_transposed(rows, w, end - begin, columns, d.k);
    for (std::int64_t s = begin; s < end; ++s) {
      const double* sums = product.data() + (s - begin) * columns;
      const std::int64_t target = d.swiglu != 0 ? s : order[static_cast<std::size_t>(s)];
      for (std::int64_t j = 0; j < d.n; ++j) {
        const double value = d.swiglu != 0 ? sums[j] / (1.0 + std::exp(-sums[j])) * sums[d.n + j] : sums[j];
        at(tensors, places.out())->set(target * d.n + j, value);
      }
    }
  });
}

Launch grouped_gemm_reference_launch(const GroupedDims& d, std::span<void* const> buffers) {
  const GroupedOperands places(d.format);
  const auto buffer = [&](int index) { return index < 0 ? nullptr : buffers[static_cast<std::size_t>(index)]; };
  // A token has no expert twice, so that an expert has m rows at most.
  return product_reference_launch({d.format, d.experts, d.m, d.x_rows(), d.n, d.k, d.swiglu != 0, d.topk},
                                  {buffer(0), buffer(places.scale_x), buffer(places.w), buffer(places.scale_w),
                                   buffer(places.order), buffer(places.offsets()), buffer(places.out())});
}

ReferenceSample grouped_gemm_reference_sample(const GroupedDims& d, std::span<const HostTensor> inputs) {
  const GroupedOperands places(d.format);
  const auto tensor = [&](int index) { return index < 0 ? nullptr : &inputs[static_cast<std::size_t>(index)]; };
  const auto order = tensor(places.order)->as<std::int32_t>();
  const auto offsets = tensor(places.offsets())->as<std::int32_t>();
  const std::vector<std::int64_t> columns = spread_over(d.n, sampled_columns);
  std::vector<std::int64_t> w_rows = columns;  // gate's, then up's
  if (d.swiglu != 0) std::ranges::transform(columns, std::back_inserter(w_rows), [&](auto j) { return d.n + j; });
  std::map<std::int64_t, std::vector<double>> by_target;  // rows of the output
  for (const std::int64_t s : spread_over(d.pairs(), sampled_rows)) {
    const std::int64_t pair = order[static_cast<std::size_t>(s)], x_row = d.swiglu != 0 ? pair / d.topk : s;
    const std::int64_t expert = std::ranges::upper_bound(offsets, static_cast<std::int32_t>(s)) - offsets.begin() - 1;
    const std::vector<float> x = chosen_rows(inputs[0], tensor(places.scale_x), d.format.scale_x, Side::activations, 0,
                                             d.x_rows(), d.k, std::span(&x_row, 1));
    const std::vector<float> w = chosen_rows(*tensor(places.w), tensor(places.scale_w), d.format.scale_w, Side::weights,
                                             expert, d.parts() * d.n, d.k, w_rows);
    std::vector<double> values = multiply_transposed(x, w, 1, std::ssize(w_rows), d.k);
    if (d.swiglu != 0) {
      for (std::size_t j = 0; j < columns.size(); ++j)
        values[j] = values[j] / (1.0 + std::exp(-values[j])) * values[columns.size() + j];
      values.resize(columns.size());
    }
    by_target[d.swiglu != 0 ? s : pair] = std::move(values);
  }
  ReferenceSample sample;
  sample.operand = static_cast<std::size_t>(places.out());
  for (const auto& [row, values] : by_target) {
    for (const std::int64_t column : columns) sample.indices.push_back(row * d.n + column);
    sample.values.insert(sample.values.end(), values.begin(), values.end());
  }
  return sample;
}

}  // namespace wavetune::templates
