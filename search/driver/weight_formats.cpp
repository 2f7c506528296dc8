#include "search/driver/weight_formats.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "db/base/error.h"
#include "search/layout/workload_options.h"
#include "templates/registry.h"

namespace wavetune::search {
namespace {

namespace po = boost::program_options;

// What quantising takes of a step beside the product that it serves, about: it moves the activations once.
constexpr double quantise_weight = 0.05;

const std::vector<std::string> dense_formats{"bf16", "fp8_block", "fp8_token", "mxfp4", "fp8_mxfp4", "bf16_mxfp4"};
const std::vector<std::string> expert_formats{"bf16", "fp8_block", "mxfp4", "fp8_mxfp4", "bf16_mxfp4"};

std::vector<std::string> read(const po::variables_map& values, const char* option,
                              const std::vector<std::string>& known) {
  if (values.count(option) == 0) return {""};
  std::vector<std::string> formats;
  for (const std::string& format : split_list(values[option].as<std::string>())) {
    if (std::find(known.begin(), known.end(), format) == known.end()) {
      fail(ErrorKind::usage, "--{} '{}' is not one of {}", option, format, fmt::join(known, ", "));
    }
    formats.push_back(format == "bf16" ? std::string() : format);
  }
  if (formats.empty()) fail(ErrorKind::usage, "--{} names no format; it may be {}", option, fmt::join(known, ", "));
  return formats;
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
                        "fp8_mxfp4, bf16_mxfp4; a list tunes for each of them")(
      "expert-format", po::value<std::string>(), "that of the experts: fp8_block, mxfp4, fp8_mxfp4, bf16_mxfp4");
}

WeightFormats read_weight_formats(const po::variables_map& values) {
  return {read(values, "dense-format", dense_formats), read(values, "expert-format", expert_formats)};
}

std::vector<TuneTask> in_formats(std::vector<TuneTask> tasks, const WeightFormats& formats) {
  const auto all_empty = [](const std::vector<std::string>& texts) {
    return std::ranges::all_of(texts, [](const std::string& text) { return text.empty(); });
  };
  if (all_empty(formats.dense) && all_empty(formats.experts)) return tasks;
  std::map<db::Problem, TuneTask> merged;
  const auto add = [&merged](TuneTask task) {
    const auto [at, added] = merged.try_emplace(task.problem, task);
    if (!added) at->second.weight += task.weight;
  };
  const std::vector<std::string> as_it_is{""};
  for (const TuneTask& task : tasks) {
    const bool dense = task.problem.op == "gemm" && task.problem.dim_or("batch", 1) == 1;
    const bool convertible = task.problem.dtype == "bf16" && (dense || task.problem.op == "grouped_gemm");
    for (const std::string& format : !convertible ? as_it_is : dense ? formats.dense : formats.experts) {
      TuneTask wanted = task;
      if (!format.empty()) {
        wanted.problem.dtype = format;
        wanted.op->check(wanted.problem);
        if (const auto activations = activations_of(format)) {
          add({&templates::get_operator("quantize"),
               {"quantize", *activations, {{"m", rows_of(wanted.problem)}, {"k", wanted.problem.dim("k")}}},
               quantise_weight * wanted.weight});
        }
      }
      add(std::move(wanted));
    }
  }
  std::vector<TuneTask> list;
  for (auto& [problem, task] : merged) list.push_back(std::move(task));
  return list;
}

}  // namespace wavetune::search
