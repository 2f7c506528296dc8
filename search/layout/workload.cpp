#include "search/layout/workload.h"

#include <algorithm>
#include <set>

#include "runtime/kernels/coverage.h"

namespace wavetune::search {
namespace {

/// The context bucket that `serve` runs such steps with.
std::int64_t context_bucket(const Workload& workload) {
  const std::vector<std::int64_t> buckets = kernels::context_buckets(workload.page_size, workload.max_context);
  const auto bucket = std::lower_bound(buckets.begin(), buckets.end(), workload.context);
  return bucket == buckets.end() ? buckets.back() : *bucket;
}

std::int64_t slots(const Workload& workload) { return context_bucket(workload) * std::max(1, workload.concurrency); }

}  // namespace

int decode_batch(const Workload& workload, int dp) { return std::max(1, (workload.concurrency + dp - 1) / dp); }

model::StepShape decode_step(const Workload& workload, int batch) {
  return {batch, batch, context_bucket(workload), slots(workload)};
}

model::StepShape prefill_step(const Workload& workload) {
  return {workload.prefill_tokens, 1, context_bucket(workload), slots(workload)};
}

std::vector<model::StepShape> tuned_steps(const Workload& workload, const std::vector<int>& dp_degrees) {
  std::set<int> batches(workload.decode_batches.begin(), workload.decode_batches.end());
  if (batches.empty()) {
    for (int batch = 1; batch <= workload.concurrency; batch *= 2) batches.insert(batch);
  }
  for (int dp : dp_degrees) batches.insert(decode_batch(workload, dp));
  std::vector<model::StepShape> steps;
  for (int batch : batches) steps.push_back(decode_step(workload, batch));
  std::set<std::int64_t> chunks(workload.more_prefill_tokens.begin(), workload.more_prefill_tokens.end());
  chunks.insert(workload.prefill_tokens);
  for (const std::int64_t tokens : chunks) {
    model::StepShape chunk = prefill_step(workload);
    chunk.tokens = tokens;
    steps.push_back(chunk);
  }
  return steps;
}

}  // namespace wavetune::search
