#include "operand_data.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "db/base/error.h"

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
  data.needed_bytes = op.cost(problem).bytes;
  if (problem.op == "gemm") {
    data.exact.resize(specs.size());
  } else if (problem.op == "grouped_gemm") {
    // The routing depends neither on n nor on k.
    db::Problem narrow = problem;
    narrow.dims["n"] = 32;
    narrow.dims["k"] = 64;
    data.exact = filled(op, narrow);
    double touched = 0;
    for (std::size_t i = 0; i < specs.size(); ++i) {
      if (specs[i].dtype != DType::i32) {
        data.exact[i] = {};
        continue;
      }
      const auto values = data.exact[i].as<std::int32_t>();
      (specs[i].name == "order" ? data.order : data.offsets).assign(values.begin(), values.end());
    }
    for (std::size_t e = 0; e + 1 < data.offsets.size(); ++e) touched += data.offsets[e] < data.offsets[e + 1] ? 1 : 0;
    data.needed_bytes = 0;
    for (const OperandSpec& spec : specs) {
      const bool of_experts = spec.name == "w" || spec.name == "w_scale";
      data.needed_bytes += bytes_of(spec) * (of_experts ? touched / static_cast<double>(problem.dim("experts")) : 1.0);
    }
  } else if (problem.op == "mla_attention") {
    for (const OperandSpec& spec : specs) {
      data.exact.push_back(spec.name == "indices" ? selections(problem) : HostTensor());
    }
  } else {
    data.exact = filled(op, problem);
  }
  return data;
}

void fill_randomly(const hip::Api& api, void* destination, std::size_t bytes, DType dtype) {
  const HostTensor& block = random_block(dtype);
  auto* begin = static_cast<std::byte*>(destination);
  std::size_t done = std::min(bytes, block.bytes().size());
  hip::check(api, api.hipMemcpy(begin, block.bytes().data(), done, hipMemcpyHostToDevice),
             "hipMemcpy of random numbers");
  // The rest is copied on the device, twice as much each time.
  while (done < bytes) {
    const std::size_t next = std::min(done, bytes - done);
    hip::check(api, api.hipMemcpy(begin + done, begin, next, hipMemcpyDeviceToDevice), "hipMemcpy of random numbers");
    done += next;
  }
  hip::check(api, api.hipDeviceSynchronize(), "hipDeviceSynchronize after filling operands");
}

}  // namespace wavetune::gpu_bench
