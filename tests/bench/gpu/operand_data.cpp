#include "operand_data.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <span>

namespace wavetune::gpu_bench {
namespace {

using templates::DType;
using templates::HostTensor;
using templates::OperandSpec;

constexpr std::int64_t block_elements = std::int64_t{1} << 20;

const HostTensor& random_block(DType dtype) {
  static std::map<DType, HostTensor> blocks;
  const auto found = blocks.find(dtype);
  if (found != blocks.end()) return found->second;
  HostTensor block(dtype, block_elements);
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  for (std::int64_t i = 0; i < block_elements; ++i) {
    // Scales near one, in either of the forms that they have.
    const bool scale = dtype == DType::e8m0 || dtype == DType::f32;
    block.set(i, scale ? std::exp2(static_cast<double>(random() % 4) - 2.0) : normal(random));
  }
  return blocks.emplace(dtype, std::move(block)).first->second;
}

/// The block over and over.
HostTensor random_tensor(const OperandSpec& spec) {
  HostTensor tensor(spec.dtype, spec.count());
  const std::span<const std::byte> block = random_block(spec.dtype).bytes();
  for (std::span<std::byte> rest = tensor.bytes(); !rest.empty();) {
    const std::size_t count = std::min(rest.size(), block.size());
    std::ranges::copy(block.first(count), rest.begin());
    rest = rest.subspan(count);
  }
  return tensor;
}

std::vector<HostTensor> filled(const templates::Operator& op, const db::Problem& problem) {
  std::vector<HostTensor> tensors;
  for (const OperandSpec& spec : op.operands(problem)) tensors.emplace_back(spec.dtype, spec.count());
  std::mt19937_64 random(1);
  op.fill(problem, random, tensors);
  return tensors;
}

/// Full lists of selected tokens, and where the cache is large enough each in a part of it that is its own, as those of
/// different sequences are: nothing is read twice.
HostTensor selections(const db::Problem& problem) {
  const std::int64_t m = problem.dim("m"), topk = problem.dim("topk"), slots = problem.dim("slots");
  const std::int64_t own = slots / m >= topk ? slots / m : slots;
  HostTensor indices(DType::i32, m * topk);
  std::mt19937_64 random(1);
  std::vector<std::int32_t> part(static_cast<std::size_t>(own));
  for (std::int64_t token = 0; token < m; ++token) {
    std::iota(part.begin(), part.end(), static_cast<std::int32_t>(own == slots ? 0 : token * own));
    std::ranges::shuffle(part, random);
    const auto row = indices.as<std::int32_t>().subspan(static_cast<std::size_t>(token * topk));
    const std::int64_t count = std::min(topk, own);
    std::copy_n(part.begin(), count, row.begin());
    std::fill(row.begin() + count, row.begin() + topk, -1);
  }
  return indices;
}

double bytes_of(const OperandSpec& spec) { return static_cast<double>(templates::bytes_for(spec.dtype, spec.count())); }

}  // namespace

OperandData operand_data(const templates::Operator& op, const db::Problem& problem) {
  OperandData data;
  const std::vector<OperandSpec> specs = op.operands(problem);
  // In operand order; empty where random numbers do.
  std::vector<HostTensor> exact(specs.size());
  data.needed_bytes = op.cost(problem).bytes;
  if (problem.op == "grouped_gemm") {
    // The routing depends neither on n nor on k.
    db::Problem narrow = problem;
    narrow.dims["n"] = 32;
    narrow.dims["k"] = 64;
    std::vector<HostTensor> tensors = filled(op, narrow);
    double touched = 0;
    for (std::size_t i = 0; i < specs.size(); ++i) {
      if (specs[i].dtype != DType::i32) continue;
      const auto values = tensors[i].as<std::int32_t>();
      (specs[i].name == "order" ? data.order : data.offsets).assign(values.begin(), values.end());
      exact[i] = std::move(tensors[i]);
    }
    for (std::size_t e = 0; e + 1 < data.offsets.size(); ++e) touched += data.offsets[e] < data.offsets[e + 1] ? 1 : 0;
    data.needed_bytes = 0;
    for (const OperandSpec& spec : specs) {
      const bool of_experts = spec.name == "w" || spec.name == "w_scale";
      data.needed_bytes += bytes_of(spec) * (of_experts ? touched / static_cast<double>(problem.dim("experts")) : 1.0);
    }
  } else if (problem.op == "mla_attention") {
    exact[static_cast<std::size_t>(std::ranges::find(specs, "indices", &OperandSpec::name) - specs.begin())] =
        selections(problem);
  } else if (problem.op != "gemm") {
    exact = filled(op, problem);
  }
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (exact[i].count() == 0) exact[i] = random_tensor(specs[i]);
  }
  data.prepared = {&op, problem, op.default_scalars(problem), specs, std::move(exact), {}, {}, {}};
  return data;
}

}  // namespace wavetune::gpu_bench
