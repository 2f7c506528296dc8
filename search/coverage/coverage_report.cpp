#include "search/coverage/coverage_report.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "runtime/kernels/coverage.h"

namespace wavetune::search {
namespace {

using kernels::Match;

std::size_t index_of(Match match) { return static_cast<std::size_t>(match); }

/// The distinct shapes, each looked up once.
class Shapes {
 public:
  Shapes(const kernels::WinnerIndex& winners, const CostTable& costs, const templates::DeviceLimits& limits)
      : winners_(winners), costs_(costs), limits_(limits) {}

  CoveredShape& at(const db::Problem& problem, const db::Problem& lookup) {
    const auto [entry, added] = shapes_.try_emplace(problem);
    if (added) {
      const kernels::Choice& choice = choose(lookup);
      entry->second = {problem, lookup, choice, kernels::match_of(choice, problem), costs_.cost(problem).us, 0};
    }
    return entry->second;
  }

  std::vector<CoveredShape> by_share() {
    std::vector<CoveredShape> list;
    for (auto& [problem, shape] : shapes_) list.push_back(std::move(shape));
    std::ranges::stable_sort(list, std::ranges::greater{}, &CoveredShape::share);
    return list;
  }

 private:
  const kernels::Choice& choose(const db::Problem& lookup) {
    const auto found = choices_.find(lookup);
    if (found != choices_.end()) return found->second;
    return choices_.emplace(lookup, winners_.choose(lookup, limits_)).first->second;
  }

  const kernels::WinnerIndex& winners_;
  const CostTable& costs_;
  const templates::DeviceLimits& limits_;
  std::map<db::Problem, CoveredShape> shapes_;
  std::map<db::Problem, kernels::Choice> choices_;
};

CoveredTime time_step(const ServedModel& served, const CoveredStep& step, const CostTable& costs, double steps,
                      Shapes& shapes) {
  const engine::ExecutorOptions& executor = served.sizes.executor;
  const model::Program& program = served.sizes.program;
  const model::StepShape rounded = kernels::lookup_shape(step.shape, executor.max_step_tokens, executor.max_samples);
  CoveredTime time;
  time.step = step;
  std::vector<std::pair<CoveredShape*, double>> calls;
  const auto add = [&](const db::Problem& problem, const db::Problem& lookup) {
    const ProblemCost cost = costs.cost(problem);
    CoveredShape& shape = shapes.at(problem, lookup);
    calls.emplace_back(&shape, cost.us);
    time.us += cost.us;
    time.measured_us += cost.measured() ? cost.us : 0;
    time.by_match[index_of(shape.match)] += cost.us;
  };
  for (const model::OpCall& call : program.calls) add(call.problem(step.shape), call.problem(rounded));
  add(kernels::sampler_problem(program, step.shape.samples), kernels::sampler_problem(program, rounded.samples));
  for (const auto& [shape, us] : calls) shape->share += us / time.us / steps;
  return time;
}

std::vector<FamilyTime> families_of(const std::vector<CoveredShape>& shapes) {
  std::map<std::string, FamilyTime> families;
  for (const CoveredShape& shape : shapes) {
    const std::string name = shape.problem.op + "/" + shape.problem.dtype;
    FamilyTime& family = families[name];
    family.name = name;
    ++family.shapes[index_of(shape.match)];
    family.share[index_of(shape.match)] += shape.share;
  }
  std::vector<FamilyTime> list;
  for (auto& [name, family] : families) list.push_back(std::move(family));
  std::ranges::stable_sort(list, std::ranges::greater{}, [](const FamilyTime& family) {
    return std::accumulate(family.share.begin(), family.share.end(), 0.0);
  });
  return list;
}

}  // namespace

ByMatch<std::int64_t> CoverageReport::counts() const {
  ByMatch<std::int64_t> counts{};
  for (const CoveredShape& shape : shapes) ++counts[index_of(shape.match)];
  return counts;
}

double CoverageReport::untuned_share() const {
  double share = 0;
  for (const CoveredShape& shape : shapes) {
    share += shape.match == Match::nearest || shape.match == Match::fallback ? shape.share : 0;
  }
  return share;
}

CoverageReport cover(const ServedModel& served, const std::vector<CoveredStep>& steps,
                     const kernels::WinnerIndex& winners, const CostTable& costs,
                     const templates::DeviceLimits& limits) {
  CoverageReport report;
  Shapes shapes(winners, costs, limits);
  for (const db::Problem& problem : kernels::serving_problems(served.sizes.program, served.sizes.lookup_shapes())) {
    shapes.at(problem, problem);
  }
  for (const CoveredStep& step : steps)
    report.steps.push_back(time_step(served, step, costs, static_cast<double>(steps.size()), shapes));
  report.shapes = shapes.by_share();
  report.families = families_of(report.shapes);
  return report;
}

}  // namespace wavetune::search
