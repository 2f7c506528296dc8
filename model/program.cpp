#include "model/program.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "db/base/error.h"
#include "model/program_builder.h"

namespace wavetune::model {
namespace {

struct Divided {
  std::string_view what;
  std::int64_t size;
};

/// Everything that is split over the ranks.
std::vector<Divided> divided_sizes(const ModelConfig& config) {
  std::vector<Divided> sizes = {{"num_attention_heads", config.num_attention_heads}, {"vocab_size", config.vocab_size}};
  const auto has = [&](MlpKind kind) {
    return std::find(config.mlp_layer_types.begin(), config.mlp_layer_types.end(), kind) !=
           config.mlp_layer_types.end();
  };
  if (has(MlpKind::sparse)) sizes.push_back({"moe_intermediate_size", config.moe_intermediate_size});
  if (has(MlpKind::dense)) sizes.push_back({"intermediate_size", config.intermediate_size});
  return sizes;
}

/// The largest degree that divides everything; every degree that works divides it.
std::int64_t largest_degree(const ModelConfig& config) {
  std::int64_t result = 0;
  for (const Divided& divided : divided_sizes(config)) result = std::gcd(result, divided.size);
  return result;
}

void check_options(const ModelConfig& config, const ProgramOptions& options) {
  for (const Divided& divided : divided_sizes(config)) {
    if (options.tp >= 1 && divided.size % options.tp == 0) continue;
    std::string works;
    const std::int64_t largest = largest_degree(config);
    for (std::int64_t degree = 1; degree <= largest; ++degree) {
      if (largest % degree == 0) works += (works.empty() ? "" : ", ") + std::to_string(degree);
    }
    fail(ErrorKind::usage, "tensor-parallel degree {} does not divide {} = {} of {}; degrees that work: {}", options.tp,
         divided.what, divided.size, config.name, works);
  }
  if (options.rank < 0 || options.rank >= options.tp) {
    fail(ErrorKind::usage, "rank {} is outside 0..{}", options.rank, options.tp - 1);
  }
  if (options.page_size < 1) fail(ErrorKind::usage, "page size {} must be at least 1", options.page_size);
  if (options.max_sequences < 1) fail(ErrorKind::usage, "{} sequences: at least 1 is needed", options.max_sequences);
  if (options.max_context < 1)
    fail(ErrorKind::usage, "a context of {} tokens: at least 1 is needed", options.max_context);
}

std::int64_t bytes_of(const Buffer& buffer, const StepShape& shape) {
  return static_cast<std::int64_t>(
      templates::bytes_for(buffer.dtype, shape.value(buffer.rows) * shape.value(buffer.cols)));
}

}  // namespace

std::int64_t Program::weight_bytes() const {
  std::int64_t total = 0;
  for (const Buffer& buffer : buffers) {
    if (buffer.storage == Storage::weight) total += bytes_of(buffer, {});
  }
  return total;
}

std::int64_t Program::cache_bytes_per_token() const {
  std::int64_t total = 0;
  for (const Buffer& buffer : buffers) {
    if (buffer.storage == Storage::cache) total += bytes_of(buffer, {.slots = 1});
  }
  return total;
}

std::int64_t Program::activation_bytes(const StepShape& largest) const {
  std::int64_t total = 0;
  for (const Buffer& buffer : buffers) {
    if (buffer.storage == Storage::weight || buffer.storage == Storage::cache) continue;
    const std::int64_t bytes = bytes_of(buffer, largest);
    total += (bytes + buffer_alignment - 1) / buffer_alignment * buffer_alignment;
  }
  return total;
}

Program build_program(const ModelConfig& config, const ProgramOptions& options) {
  check_options(config, options);
  return ProgramBuilder(config, options).build();
}

std::vector<int> valid_tp_degrees(const ModelConfig& config, int devices) {
  std::vector<int> degrees;
  const std::int64_t largest = largest_degree(config);
  for (int degree = 1; degree <= devices; ++degree) {
    if (devices % degree == 0 && largest % degree == 0) degrees.push_back(degree);
  }
  return degrees;
}

std::map<db::Problem, int> problems_of(const Program& program, const StepShape& shape) {
  std::map<db::Problem, int> counts;
  for (const OpCall& call : program.calls) ++counts[call.problem(shape)];
  return counts;
}

}  // namespace wavetune::model
