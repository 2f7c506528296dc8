#include "search/driver/spec_summary.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "search/driver/roofline.h"

namespace wavetune::search {
namespace {

/// A configuration in the file's order and values.
std::string in_words(const templates::SpecOperator& op, const db::Config& config) {
  std::string text;
  for (const templates::T1Parameter& parameter : op.file().parameters) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", parameter.name,
                        templates::t1_value(parameter, config.at(parameter.name)).text());
  }
  return text;
}

std::string counts(const SpecSummary& summary) {
  std::string text;
  for (const auto& [outcome, count] : summary.outcomes)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, db::to_string(outcome));
  return text;
}

}  // namespace

SpecSummary spec_summary(const templates::SpecOperator& op, const db::Database& database,
                         const db::Environment& environment, const measure::DevicePeak& peak) {
  SpecSummary summary;
  const db::Problem problem = op.problem();
  const db::Config usual = op.default_config(problem, {});
  summary.usual = in_words(op, usual);
  summary.roofline_us = roofline_us(op.cost(problem), peak, problem.dtype);
  for (const db::Trial& trial : database.trials_of(environment, problem, templates::source_hash(op))) {
    ++summary.tried;
    ++summary.outcomes[trial.outcome];
    if (trial.outcome != db::Outcome::ok) {
      summary.first_error.try_emplace(trial.outcome, fmt::format("{}: {}", in_words(op, trial.config), trial.error));
      continue;
    }
    ++summary.ok;
    if (trial.config == usual) summary.default_us = trial.median_us;
  }
  if (const auto winner = database.winner(environment, problem)) {
    summary.best_us = winner->median_us;
    summary.best = in_words(op, winner->config);
  }
  return summary;
}

std::string spec_text(const templates::SpecOperator& op, const SpecSummary& summary) {
  std::string text =
      fmt::format("{}: {} configurations tried, {}\n", op.problem().key(), summary.tried, counts(summary));
  text += fmt::format("  best     {:>11.4g} us  {}\n", summary.best_us, summary.best);
  if (summary.default_us > 0) {
    text += fmt::format("  default  {:>11.4g} us  {}  (the best is {:.2f}x as fast)\n", summary.default_us,
                        summary.usual, summary.default_us / summary.best_us);
  }
  if (summary.roofline_us > 0) {
    text += fmt::format("  roofline {:>11.4g} us  of which the best reaches {:.1f} %\n", summary.roofline_us,
                        100 * summary.roofline_us / summary.best_us);
  }
  for (const auto& [outcome, error] : summary.first_error)
    text += fmt::format("  first {}: {}\n", db::to_string(outcome), error.substr(0, error.find('\n')));
  return text;
}

std::string spec_event(const SpecSummary& summary) {
  nlohmann::json event = {{"event", "summary"},   {"tried", summary.tried},     {"ok", summary.ok},
                          {"best", summary.best}, {"best_us", summary.best_us}, {"default", summary.usual}};
  if (summary.default_us > 0) event["default_us"] = summary.default_us;
  if (summary.roofline_us > 0) event["roofline_us"] = summary.roofline_us;
  for (const auto& [outcome, count] : summary.outcomes) event["outcomes"][std::string(db::to_string(outcome))] = count;
  return event.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string without_winner(const templates::SpecOperator& op, const SpecSummary& summary) {
  const std::string file = op.file().path.string();
  if (summary.tried == 0) return fmt::format("{}: no configuration was measured; see the warning above", file);
  std::string text = fmt::format("{}: no configuration is usable: {} tried, {}", file, summary.tried, counts(summary));
  const auto wrong = summary.first_error.find(db::Outcome::wrong);
  const auto& first = wrong != summary.first_error.end() ? *wrong : *summary.first_error.begin();
  text += fmt::format("; {}: {}", db::to_string(first.first), first.second.substr(0, first.second.find('\n')));
  if (wrong != summary.first_error.end())
    text += fmt::format("; check the reference, {}, and Tolerance", op.reference_description());
  return text;
}

}  // namespace wavetune::search
