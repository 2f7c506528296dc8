#include "search/driver/model_tasks.h"

#include <algorithm>
#include <map>

#include "db/base/error.h"
#include "search/driver/roofline.h"
#include "templates/registry.h"

namespace wavetune::search {

std::vector<TuneTask> model_tasks(const std::vector<CandidateLayout>& layouts, const Workload& workload,
                                  const measure::DevicePeak& peak) {
  std::vector<int> dp_degrees;
  for (const CandidateLayout& layout : layouts) {
    if (layout.program) dp_degrees.push_back(layout.dp);
  }
  std::map<db::Problem, TuneTask> tasks;
  for (const CandidateLayout& layout : layouts) {
    if (!layout.program) continue;
    for (const model::StepShape& step : tuned_steps(workload, dp_degrees)) {
      std::vector<std::pair<TuneTask*, double>> of_step;
      double total_us = 0;
      for (const auto& [problem, count] : step_problems(*layout.program, step)) {
        const templates::Operator* op = templates::find_operator(problem.op);
        if (op == nullptr) continue;  // moves data between ranks: nothing to tune
        const double us = count * (launch_us + roofline_us(op->cost(problem), peak, problem.dtype));
        of_step.emplace_back(&tasks.try_emplace(problem, TuneTask{op, problem, 0}).first->second, us);
        total_us += us;
      }
      for (auto& [task, us] : of_step) task->weight += us / total_us;
    }
  }
  std::vector<TuneTask> list;
  for (auto& [problem, task] : tasks) list.push_back(std::move(task));
  return list;
}

std::vector<TuneTask> filter_tasks(std::vector<TuneTask> tasks, const std::vector<std::string>& names) {
  if (names.empty()) return tasks;
  const auto fits = [](const TuneTask& task, const std::string& name) {
    return name == task.problem.op || name == task.problem.op + "_" + task.problem.dtype;
  };
  for (const std::string& name : names) {
    if (std::any_of(tasks.begin(), tasks.end(), [&](const TuneTask& task) { return fits(task, name); })) continue;
    std::string known;
    for (const TuneTask& task : tasks) {
      const std::string word = task.problem.op + "_" + task.problem.dtype;
      if (known.find(word) == std::string::npos) known += (known.empty() ? "" : ", ") + word;
    }
    fail(ErrorKind::usage, "--op '{}' is no operator of this model; it has {} (the format may be left out)", name,
         known);
  }
  std::erase_if(tasks, [&](const TuneTask& task) {
    return std::none_of(names.begin(), names.end(), [&](const std::string& name) { return fits(task, name); });
  });
  return tasks;
}

}  // namespace wavetune::search
