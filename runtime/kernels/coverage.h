// How well a database answers for a program: the line that `serve` prints at start, and what --require-tuned refuses.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/program.h"
#include "runtime/kernels/kernel_table.h"

namespace wavetune::kernels {

/// Distinct problems that are looked up, by how they are matched.
struct Coverage {
  std::int64_t exact = 0;
  std::int64_t nearest = 0;
  std::int64_t fallback = 0;
  std::vector<std::string> untuned;  ///< keys of the fallback problems, alphabetical

  std::int64_t total() const { return exact + nearest + fallback; }
  /// "142 operator shapes: 90 tuned exactly, 48 by nearest shape, 4 untuned".
  std::string summary() const;
};

/// Step shapes of `program` in which serving looks kernels up: tokens and samples in powers of two up to `max_tokens`
/// and `max_samples`, contexts as in context_buckets. Every step is run with the kernels of its shape rounded up to one
/// of these.
std::vector<model::StepShape> serving_shapes(std::int64_t max_tokens, std::int64_t max_samples, std::int64_t page_size,
                                             std::int64_t max_context, std::int64_t slots);

/// page_size x 1, 2, 4, ... up to and including `max_context` (rounded up to a page).
std::vector<std::int64_t> context_buckets(std::int64_t page_size, std::int64_t max_context);

/// `shape` rounded up to the serving shape whose kernels it runs with.
model::StepShape lookup_shape(const model::StepShape& shape, std::int64_t max_tokens, std::int64_t max_samples);

/// The sampler, which follows the program on rank 0: over the gathered logits of all ranks.
db::Problem sampler_problem(const model::Program& program, std::int64_t samples);

/// The distinct problems of `program` and the sampler over `shapes`, in key order.
std::vector<db::Problem> serving_problems(const model::Program& program, std::span<const model::StepShape> shapes);

Coverage coverage_of(const WinnerIndex& winners, std::span<const db::Problem> problems,
                     const templates::DeviceLimits& limits);

}  // namespace wavetune::kernels
