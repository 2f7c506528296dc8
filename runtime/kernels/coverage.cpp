#include "runtime/kernels/coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

namespace wavetune::kernels {
namespace {

std::int64_t round_up_to_power(std::int64_t value, std::int64_t limit) {
  const auto power =
      static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(value, 1))));
  // A limit that is no power of two is itself the last bucket.
  return value <= limit ? std::min(power, limit) : power;
}

}  // namespace

std::string Coverage::summary() const {
  return fmt::format("{} operator shapes: {} tuned exactly, {} by nearest shape, {} untuned", total(), exact, nearest,
                     fallback);
}

std::vector<std::int64_t> context_buckets(std::int64_t page_size, std::int64_t max_context) {
  const std::int64_t last = (max_context + page_size - 1) / page_size * page_size;
  std::vector<std::int64_t> buckets;
  for (std::int64_t context = page_size; context < last; context *= 2) buckets.push_back(context);
  buckets.push_back(last);
  return buckets;
}

model::StepShape lookup_shape(const model::StepShape& shape, std::int64_t max_tokens, std::int64_t max_samples) {
  return {round_up_to_power(shape.tokens, max_tokens), round_up_to_power(shape.samples, max_samples), shape.context,
          shape.slots};
}

std::vector<model::StepShape> serving_shapes(std::int64_t max_tokens, std::int64_t max_samples, std::int64_t page_size,
                                             std::int64_t max_context, std::int64_t slots) {
  std::vector<model::StepShape> shapes;
  const std::vector<std::int64_t> contexts = context_buckets(page_size, max_context);
  for (std::int64_t tokens = 1;; tokens *= 2) {
    for (std::int64_t context : contexts) {
      const std::int64_t step_tokens = std::min(tokens, max_tokens);
      shapes.push_back({step_tokens, std::min(step_tokens, max_samples), context, slots});
    }
    if (tokens >= max_tokens) break;
  }
  return shapes;
}

db::Problem sampler_problem(const model::Program& program, std::int64_t samples) {
  return {"sample", "f32", {{"m", samples}, {"n", program.config.vocab_size}, {"ranks", program.tp}}};
}

std::vector<db::Problem> serving_problems(const model::Program& program, std::span<const model::StepShape> shapes) {
  std::set<db::Problem> problems;
  for (const model::StepShape& shape : shapes) {
    for (const model::OpCall& call : program.calls) problems.insert(call.problem(shape));
    problems.insert(sampler_problem(program, shape.samples));
  }
  return {problems.begin(), problems.end()};
}

Coverage coverage_of(const WinnerIndex& winners, std::span<const db::Problem> problems,
                     const templates::DeviceLimits& limits) {
  Coverage coverage;
  for (const db::Problem& problem : problems) {
    switch (winners.choose(problem, limits).match) {
      case Match::exact:
      case Match::bucket:  // not of what is looked up
        ++coverage.exact;
        break;
      case Match::nearest:
        ++coverage.nearest;
        break;
      case Match::fallback:
        ++coverage.fallback;
        coverage.untuned.push_back(problem.key());
        break;
    }
  }
  std::sort(coverage.untuned.begin(), coverage.untuned.end());
  return coverage;
}

}  // namespace wavetune::kernels
