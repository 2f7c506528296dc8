#include "search/driver/weight_formats.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "db/base/error.h"
#include "templates/registry.h"

namespace wavetune::search {
namespace {

namespace po = boost::program_options;

// What quantising takes of a step beside the product that it serves, about: it moves the activations once.
constexpr double quantise_weight = 0.05;

const std::vector<std::string> dense_formats{"bf16", "fp8_block", "fp8_token", "mxfp4", "fp8_mxfp4", "bf16_mxfp4"};
const std::vector<std::string> expert_formats{"bf16", "fp8_block", "mxfp4", "fp8_mxfp4", "bf16_mxfp4"};

std::string read(const po::variables_map& values, const char* option, const std::vector<std::string>& known) {
  if (values.count(option) == 0) return {};
  std::string format = values[option].as<std::string>();
  if (std::find(known.begin(), known.end(), format) == known.end()) {
    fail(ErrorKind::usage, "--{} '{}' is not one of {}", option, format, fmt::join(known, ", "));
  }
  return format == "bf16" ? std::string() : format;
}

/// The format that activations are quantised to for products in `format`; nothing when they stay bf16.
std::optional<std::string> activations_of(const std::string& format) {
  if (format == "fp8_block" || format == "fp8_token" || format == "mxfp4") return format;
  if (format == "fp8_mxfp4") return "fp8_token";
  return std::nullopt;
}

/// Rows that a product reads.
std::int64_t rows_of(const db::Problem& problem) {
  const bool of_pairs = problem.op == "grouped_gemm" && problem.dim("swiglu") == 0;
  return problem.dim("m") * (of_pairs ? problem.dim("topk") : 1);
}

}  // namespace

void add_weight_format_options(po::options_description& options) {
  options.add_options()("dense-format", po::value<std::string>(),
                        "number format of attention and dense layers instead of bf16: fp8_block, fp8_token, mxfp4, "
                        "fp8_mxfp4, bf16_mxfp4")("expert-format", po::value<std::string>(),
                                                 "that of the experts: fp8_block, mxfp4, fp8_mxfp4, bf16_mxfp4");
}

WeightFormats read_weight_formats(const po::variables_map& values) {
  return {read(values, "dense-format", dense_formats), read(values, "expert-format", expert_formats)};
}

std::vector<TuneTask> in_formats(std::vector<TuneTask> tasks, const WeightFormats& formats) {
  if (formats.dense.empty() && formats.experts.empty()) return tasks;
  std::map<db::Problem, TuneTask> merged;
  const auto add = [&merged](TuneTask task) {
    const auto [at, added] = merged.try_emplace(task.problem, task);
    if (!added) at->second.weight += task.weight;
  };
  for (TuneTask& task : tasks) {
    const bool dense = task.problem.op == "gemm" && task.problem.dim_or("batch", 1) == 1;
    const std::string format = dense ? formats.dense : task.problem.op == "grouped_gemm" ? formats.experts : "";
    if (task.problem.dtype == "bf16" && !format.empty()) {
      task.problem.dtype = format;
      task.op->check(task.problem);
      if (const auto activations = activations_of(format)) {
        add({&templates::get_operator("quantize"),
             {"quantize", *activations, {{"m", rows_of(task.problem)}, {"k", task.problem.dim("k")}}},
             quantise_weight * task.weight});
      }
    }
    add(std::move(task));
  }
  std::vector<TuneTask> list;
  for (auto& [problem, task] : merged) list.push_back(std::move(task));
  return list;
}

}  // namespace wavetune::search
