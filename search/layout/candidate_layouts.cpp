#include "search/layout/candidate_layouts.h"

#include <algorithm>
#include <utility>

#include "db/base/error.h"
#include "runtime/kernels/coverage.h"

namespace wavetune::search {

std::vector<CandidateLayout> candidate_layouts(const model::ModelConfig& config, int devices,
                                               const std::vector<int>& only_tp, const Workload& workload) {
  for (int tp : only_tp) {
    if (tp < 1 || devices % tp != 0) {
      fail(ErrorKind::usage,
           "--tp {} does not divide the {} devices shown; show more with --device, or choose a divisor", tp, devices);
    }
  }
  std::vector<CandidateLayout> layouts;
  for (int tp = 1; tp <= devices; ++tp) {
    const bool wanted = only_tp.empty() || std::find(only_tp.begin(), only_tp.end(), tp) != only_tp.end();
    if (devices % tp != 0 || !wanted) continue;
    CandidateLayout layout{tp, devices / tp, std::nullopt, ""};
    model::ProgramOptions options;
    options.tp = tp;
    options.page_size = workload.page_size;
    options.max_sequences = workload.concurrency;
    options.max_context = workload.max_context;
    try {
      layout.program = model::build_program(config, options);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::usage || !only_tp.empty()) throw;
      layout.reason = error.what();
    }
    layouts.push_back(std::move(layout));
  }
  return layouts;
}

std::map<db::Problem, int> step_problems(const model::Program& program, const model::StepShape& step) {
  std::map<db::Problem, int> problems = model::problems_of(program, step);
  ++problems[kernels::sampler_problem(program, step.samples)];
  return problems;
}

}  // namespace wavetune::search
