// Every way to use N devices: tensor-parallel degree x data-parallel replicas.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/program.h"
#include "search/layout/workload.h"

namespace wavetune::search {

struct CandidateLayout {
  int tp = 1;
  int dp = 1;
  std::optional<model::Program> program;  ///< of one rank; absent when the model cannot be split so
  std::string reason;                     ///< why it is absent
};

/// One for each divisor of `devices`, ascending by tp; only those in `only_tp` when it is not empty. Throws Error usage
/// when `only_tp` names a degree that does not divide `devices` or the model.
std::vector<CandidateLayout> candidate_layouts(const model::ModelConfig& config, int devices,
                                               const std::vector<int>& only_tp, const Workload& workload);

/// The distinct problems of one step with how often each occurs: the program's and the sampler's. Calls without an
/// operator in templates/ (data movement between ranks) are included.
std::map<db::Problem, int> step_problems(const model::Program& program, const model::StepShape& step);

}  // namespace wavetune::search
