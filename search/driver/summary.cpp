#include "search/driver/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "search/driver/roofline.h"

namespace wavetune::search {

std::vector<SummaryRow> summary_rows(const TuneContext& context, const std::vector<TuneTask>& tasks) {
  std::vector<const TuneTask*> order;
  for (const TuneTask& task : tasks) order.push_back(&task);
  std::stable_sort(order.begin(), order.end(),
                   [](const TuneTask* a, const TuneTask* b) { return a->weight > b->weight; });
  std::vector<SummaryRow> rows;
  for (const TuneTask* task : order) {
    SummaryRow row;
    const db::Config usual = task->op->default_config(task->problem, context.provider.devices().front().limits);
    for (const db::Trial& trial :
         context.database.trials_of(context.environment, task->problem, context.options.source_hash(*task->op))) {
      ++row.trials;
      if (trial.outcome == db::Outcome::ok && trial.config == usual) row.default_us = trial.median_us;
    }
    const auto winner = context.database.winner(context.environment, task->problem);
    if (!winner) continue;
    row.best_us = winner->median_us;
    row.config = db::to_text(winner->config);
    row.op = task->problem.op + "/" + task->problem.dtype;
    row.shape = db::to_text(task->problem.dims);
    row.roofline_us = roofline_us(task->op->cost(task->problem), context.peak, task->problem.dtype);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string summary_text(const std::vector<SummaryRow>& rows, std::size_t most) {
  if (rows.empty()) return "nothing has been tuned yet\n";
  std::string text = fmt::format("{:<20} {:<58} {:>7} {:>11} {:>11} {:>8} {:>11}\n", "operator", "shape", "trials",
                                 "default us", "best us", "gain", "roofline us");
  double log_gain = 0;
  int with_default = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const SummaryRow& row = rows[i];
    if (row.default_us > 0) {
      log_gain += std::log(row.default_us / row.best_us);
      ++with_default;
    }
    if (i >= most) continue;
    text +=
        fmt::format("{:<20} {:<58} {:>7} {:>11} {:>11.4g} {:>8} {:>11.3g}\n", row.op, row.shape, row.trials,
                    row.default_us > 0 ? fmt::format("{:.4g}", row.default_us) : "-", row.best_us,
                    row.default_us > 0 ? fmt::format("{:.2f}x", row.default_us / row.best_us) : "-", row.roofline_us);
  }
  if (rows.size() > most)
    text += fmt::format("... and {} more shapes ('wavetune db show' lists all)\n", rows.size() - most);
  if (with_default > 0) {
    text += fmt::format("{} shapes with a winner; geometric mean over the default configuration {:.2f}x\n", rows.size(),
                        std::exp(log_gain / with_default));
  }
  return text;
}

}  // namespace wavetune::search
