#include "search/coverage/neighbour_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "db/commands/table.h"
#include "templates/registry.h"

namespace wavetune::search {
namespace {

constexpr std::size_t neighbours_each_side = 4;
constexpr double same_time = 1.01;

double time_of(const std::vector<db::Trial>& trials, const db::Config& config) {
  const auto trial = std::ranges::find(trials, config, &db::Trial::config);
  return trial == trials.end() || trial->outcome != db::Outcome::ok ? 0 : trial->median_us;
}

std::string us_text(double us) { return us > 0 ? fmt::format("{:.4g}", us) : "-"; }

nlohmann::json to_json(const NeighbourTime& time) {
  return {{"from", time.from}, {"config", db::to_text(time.config)}, {"us", time.us}};
}

}  // namespace

const NeighbourTime* NeighbourCheck::best() const {
  const NeighbourTime* fastest = nullptr;
  for (const NeighbourTime& one : neighbours) {
    if (one.us > 0 && (fastest == nullptr || one.us < fastest->us)) fastest = &one;
  }
  return fastest;
}

double NeighbourCheck::ratio() const {
  if (neighbours.empty() || neighbours.front().us <= 0) return 0;
  return neighbours.front().us / best()->us;
}

NeighbourSummary summarise(const std::vector<NeighbourCheck>& checks) {
  NeighbourSummary summary;
  double logs = 0;
  for (const NeighbourCheck& check : checks) {
    const double ratio = check.ratio();
    const auto ran = std::ranges::count_if(check.neighbours, [](const NeighbourTime& one) { return one.us > 0; });
    if (ratio <= 0 || ran < 2) continue;
    ++summary.shapes;
    summary.best_picked += ratio == 1 ? 1 : 0;
    summary.nearly_picked += ratio <= same_time ? 1 : 0;
    summary.faster_default +=
        check.fallback.us > 0 && check.neighbours.front().us > same_time * check.fallback.us ? 1 : 0;
    logs += std::log(ratio);
  }
  if (summary.shapes > 0) summary.mean_loss = std::exp(logs / summary.shapes);
  return summary;
}

std::vector<db::Problem> nearest_lookups(const CoverageReport& report, std::size_t most) {
  std::map<db::Problem, std::pair<double, double>> weights;  // share and time of a call
  for (const CoveredShape& shape : report.shapes) {
    if (shape.choice.match != kernels::Match::nearest) continue;
    auto& [share, us] = weights[shape.lookup];
    share += shape.share;
    if (shape.problem == shape.lookup) us = shape.us;
  }
  std::vector<std::pair<db::Problem, std::pair<double, double>>> list(weights.begin(), weights.end());
  std::ranges::stable_sort(list, std::ranges::greater{}, [](const auto& one) { return one.second; });
  if (list.size() > most) list.resize(most);
  std::vector<db::Problem> problems;
  for (auto& [problem, weight] : list) problems.push_back(std::move(problem));
  return problems;
}

std::vector<NeighbourCheck> check_neighbours(Tuner& tuner, const kernels::WinnerIndex& winners,
                                             const templates::DeviceLimits& limits,
                                             const std::vector<db::Problem>& problems, Reporter& reporter) {
  std::vector<Tuner::Comparison> shapes;
  std::map<db::Problem, std::vector<kernels::Choice>> near;
  for (const db::Problem& problem : problems) {
    const templates::Operator& op = templates::get_operator(problem.op);
    Tuner::Comparison shape{{&op, problem, 1}, {}};
    near[problem] = winners.neighbours(problem, limits, neighbours_each_side);
    for (const kernels::Choice& choice : near[problem]) shape.configs.push_back(choice.config);
    const db::Config usual = op.default_config(problem, limits);
    if (std::ranges::find(shape.configs, usual) == shape.configs.end()) shape.configs.push_back(usual);
    shapes.push_back(std::move(shape));
  }
  std::vector<NeighbourCheck> checks;
  tuner.compare(shapes, reporter, [&](const Tuner::Comparison& shape, const std::vector<db::Trial>& trials) {
    if (trials.size() < shape.configs.size()) return;  // it was cut off
    NeighbourCheck check;
    check.problem = shape.task.problem;
    for (const kernels::Choice& choice : near.at(check.problem))
      check.neighbours.push_back({choice.from, choice.config, time_of(trials, choice.config)});
    check.fallback.config = shape.task.op->default_config(check.problem, limits);
    check.fallback.us = time_of(trials, check.fallback.config);
    reporter.note(fmt::format("{}: {} us, {:.3f}x the best neighbour's", check.problem.key(),
                              us_text(check.neighbours.front().us), check.ratio()));
    checks.push_back(std::move(check));
  });
  return checks;
}

std::string neighbours_text(const std::vector<NeighbourCheck>& checks) {
  db::Table table({{"shape"},
                   {"serving takes"},
                   {"us", db::Align::right},
                   {"best neighbour"},
                   {"us", db::Align::right},
                   {"ratio", db::Align::right},
                   {"of", db::Align::right},
                   {"default us", db::Align::right}});
  // Of a neighbour only what differs from the shape.
  const auto short_name = [](const NeighbourTime& time, const db::Problem& problem) {
    if (time.from.empty()) return std::string("-");
    std::string text;
    const db::Problem from = db::problem_from_key(time.from);
    for (const auto& [name, value] : from.dims) {
      if (problem.dim_or(name, -1) != value) text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, value);
    }
    return text;
  };
  for (const NeighbourCheck& check : checks) {
    const NeighbourTime* best = check.best();
    table.add({check.problem.key(), short_name(check.neighbours.front(), check.problem),
               us_text(check.neighbours.front().us), best == nullptr ? "-" : short_name(*best, check.problem),
               us_text(best == nullptr ? 0 : best->us), check.ratio() > 0 ? fmt::format("{:.3f}", check.ratio()) : "-",
               fmt::format("{}", check.neighbours.size()), us_text(check.fallback.us)});
  }
  const NeighbourSummary summary = summarise(checks);
  return table.text("") +
         fmt::format(
             "\n{} of {} shapes had more than one neighbour to choose from; serving's rule (next larger m, else the "
             "closest) took\nthe fastest for {} of them, one within 1 % of it for {}; geometric mean of the loss "
             "{:.3f}x; "
             "the default configuration\nwas faster than the choice for {}\n",
             summary.shapes, checks.size(), summary.best_picked, summary.nearly_picked, summary.mean_loss,
             summary.faster_default);
}

nlohmann::json neighbours_json(const std::vector<NeighbourCheck>& checks) {
  const NeighbourSummary summary = summarise(checks);
  nlohmann::json shapes = nlohmann::json::array();
  for (const NeighbourCheck& check : checks) {
    nlohmann::json neighbours = nlohmann::json::array();
    for (const NeighbourTime& one : check.neighbours) neighbours.push_back(to_json(one));
    shapes.push_back({{"problem", check.problem.key()},
                      {"neighbours", std::move(neighbours)},
                      {"default", to_json(check.fallback)},
                      {"ratio", check.ratio()}});
  }
  return {{"shapes", std::move(shapes)},
          {"compared", summary.shapes},
          {"best_picked", summary.best_picked},
          {"nearly_picked", summary.nearly_picked},
          {"faster_default", summary.faster_default},
          {"mean_loss", summary.mean_loss}};
}

}  // namespace wavetune::search
