#include "search/measure/verify_and_time.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "db/base/error.h"
#include "search/measure/candidate.h"

namespace wavetune::measure {
namespace {

using templates::HostTensor;
using templates::Role;

// Twice the largest cache of the devices served (256 MB on MI355X): weights are read from memory in serving, since a
// whole model passes between two uses. On the CPU provider one set is used: its caches are shared with everything else
// anyhow.
constexpr std::size_t gpu_rotate_bytes = std::size_t{512} << 20;

bool sanitizing() {
  const char* value = std::getenv("WAVETUNE_CPU_SANITIZE");
  return value != nullptr && *value != '\0';
}

/// `all_reduce` is measured across devices where there are enough of them.
bool is_collective(const hip::Provider& provider, const PreparedProblem& prepared) {
  return prepared.op->name() == "all_reduce" &&
         prepared.problem.dim_or("ranks", 1) <= static_cast<std::int64_t>(provider.devices().size());
}

std::unique_ptr<Candidate> load(const hip::Provider& provider, int device_index, const PreparedProblem& prepared,
                                const MeasureRequest& request) {
  const bool guards = !sanitizing();
  if (is_collective(provider, prepared))
    return load_collective(provider, prepared, request.config, request.code, guards);
  CandidateOptions options;
  options.device = device_index;
  options.guards = guards;
  options.rotate_bytes = provider.kind() == hip::ProviderKind::cpu ? 0 : gpu_rotate_bytes;
  return load_candidate(provider, prepared, request.config, request.code, options);
}

MeasureResult ended(db::Outcome outcome, std::string error) {
  MeasureResult result;
  result.outcome = outcome;
  result.error = std::move(error);
  return result;
}

/// Compares what one run left behind; fills max_error and, when it is wrong, outcome and error.
void verify(const PreparedProblem& prepared, const Candidate& candidate, MeasureResult& result) {
  if (auto broken = candidate.broken_guard()) {
    result.outcome = db::Outcome::wrong;
    result.error = *broken;
    return;
  }
  for (const std::vector<HostTensor>& got : candidate.results()) {
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (prepared.specs[i].role != Role::input) continue;
      if (!std::ranges::equal(got[i].bytes(), prepared.inputs[i].bytes())) {
        result.outcome = db::Outcome::wrong;
        result.error = "it wrote to its input '" + prepared.specs[i].name + "'";
        return;
      }
    }
    const templates::Comparison comparison = prepared.op->compare(prepared.problem, got, prepared.expected);
    result.max_error = std::max(result.max_error, comparison.worst);
    if (comparison.passes()) continue;
    result.outcome = db::Outcome::wrong;
    result.error = comparison.message;
    return;
  }
}

}  // namespace

TrialRun verify_and_time(const hip::Provider& provider, int device_index, const PreparedProblem& prepared,
                         const MeasureRequest& request) {
  TrialRun run;
  MeasureResult& result = run.result;
  std::unique_ptr<Candidate> candidate;
  try {
    candidate = load(provider, device_index, prepared, request);
    if (auto reason = candidate->over_limits()) {
      result = ended(db::Outcome::resource_limit, *reason);
      return run;
    }
    result.resources = candidate->resources();
    candidate->reset();
    candidate->enqueue();
  } catch (const Error& error) {
    result = ended(db::Outcome::launch_error, error.what());
    return run;
  }
  try {
    candidate->wait();
    verify(prepared, *candidate, result);
    if (result.outcome != db::Outcome::ok) return run;
    // Outputs keep what the verification left; inouts go on changing, which no operator's time depends on.
    const TimingResult timing =
        time_kernel([&](int count) { return candidate->timed(count); }, request.timing, request.incumbent_us);
    result.samples_us = timing.samples_us;
    result.median_us = timing.median_us;
    // A kernel that only sometimes goes astray (a race, an index beyond its operand) shows it after many runs.
    if (auto broken = candidate->broken_guard())
      result = ended(db::Outcome::wrong, *broken + ", after repeated launches");
  } catch (const Error& error) {
    result = ended(db::Outcome::fault, error.what());
    run.device_lost = true;
  }
  return run;
}

}  // namespace wavetune::measure
