#include "search/layout/served_formats.h"

#include <set>

#include "db/base/error.h"
#include "search/layout/candidate_layouts.h"
#include "search/predict/machine.h"

namespace wavetune::search {
namespace {

/// Products whose weights a quantised checkpoint converts. Batched ones (the absorbed key and value projections),
/// router and head stay as they are in the published checkpoints.
bool is_dense_product(const db::Problem& problem) {
  return problem.op == "gemm" && problem.dtype == "bf16" && problem.dim_or("batch", 1) == 1;
}
bool is_expert_product(const db::Problem& problem) { return problem.op == "grouped_gemm" && problem.dtype == "bf16"; }

/// The format in which activations must be written before a product in `format`; empty: they stay bf16.
std::string activations_of(const std::string& format) {
  if (format == "fp8_block" || format == "fp8_token" || format == "mxfp4") return format;
  return format == "fp8_mxfp4" ? "fp8_token" : "";
}

}  // namespace

db::Problem ServedFormats::served(const db::Problem& problem) const {
  db::Problem result = problem;
  if (!dense.empty() && is_dense_product(problem)) result.dtype = dense;
  if (!experts.empty() && is_expert_product(problem)) result.dtype = experts;
  return result;
}

ServedFormats served_formats(const std::string& name) {
  if (name == "bf16") return {name, "", "", CacheFormat::model, "zai-org/GLM-5.2"};
  if (name == "fp8") return {name, "fp8_block", "fp8_block", CacheFormat::model, "zai-org/GLM-5.2-FP8"};
  if (name == "mxfp4") return {name, "", "mxfp4", CacheFormat::model, "amd/GLM-5.2-MXFP4"};
  fail(ErrorKind::usage, "--weights '{}' is not one of bf16, fp8, mxfp4", name);
}

std::map<db::Problem, int> served_problems(const model::Program& program, const model::StepShape& step,
                                           const ServedFormats& formats) {
  std::map<db::Problem, int> result;
  for (const auto& [problem, count] : step_problems(program, step)) {
    const db::Problem served = formats.served(problem);
    result[served] += count;
    if (served.dtype == problem.dtype) continue;
    if (const std::string activations = activations_of(served.dtype); !activations.empty()) {
      const bool of_pairs = served.op == "grouped_gemm" && served.dim_or("swiglu", 0) == 0;
      const std::int64_t rows = served.dim("m") * (of_pairs ? served.dim("topk") : 1);
      result[{"quantize", activations, {{"m", rows}, {"k", served.dim("k")}}}] += count;
    }
  }
  return result;
}

double served_weight_bytes(const model::Program& program, const ServedFormats& formats) {
  double bytes = static_cast<double>(program.weight_bytes());
  constexpr std::size_t weight_operand = 1;  // of gemm and grouped_gemm
  std::set<int> counted;
  for (const model::OpCall& call : program.calls) {
    if (call.op != "gemm" && call.op != "grouped_gemm") continue;
    const db::Problem problem = call.problem({});
    const db::Problem served = formats.served(problem);
    const int index = call.operands.at(weight_operand).buffer;
    const model::Buffer& buffer = program.buffers.at(static_cast<std::size_t>(index));
    if (served.dtype == problem.dtype || buffer.storage != model::Storage::weight || !counted.insert(index).second)
      continue;
    const auto format = predict::number_format(served.dtype);
    if (!format) fail(ErrorKind::internal, "no number format '{}'", served.dtype);
    const auto elements = static_cast<double>(buffer.rows.factor * buffer.cols.factor);
    bytes += elements * (predict::weight_bytes(*format) - static_cast<double>(templates::bytes_for(buffer.dtype, 1)));
  }
  return bytes;
}

double mtp_weight_bytes(const model::Program& program) {
  const std::string layer = "model.layers." + std::to_string(program.config.num_hidden_layers - 1) + ".";
  const auto hidden = static_cast<double>(program.config.hidden_size);
  double bytes = 2 * hidden * hidden * static_cast<double>(templates::bytes_for(program.config.dtype, 1));
  for (const model::Buffer& buffer : program.buffers) {
    if (buffer.storage == model::Storage::weight && buffer.name.starts_with(layer))
      bytes += static_cast<double>(templates::bytes_for(buffer.dtype, buffer.rows.factor * buffer.cols.factor));
  }
  return bytes;
}

double served_cache_bytes_per_token(const model::Program& program, const ServedFormats& formats) {
  if (formats.cache == CacheFormat::model) return static_cast<double>(program.cache_bytes_per_token());
  double bytes = 0;
  for (const model::Buffer& buffer : program.buffers) {
    if (buffer.storage != model::Storage::cache) continue;
    const bool indexer_keys = buffer.cols.factor == program.config.index_head_dim;
    bytes += static_cast<double>(buffer.cols.factor) + (indexer_keys ? sizeof(float) : 0);
  }
  return bytes;
}

}  // namespace wavetune::search
