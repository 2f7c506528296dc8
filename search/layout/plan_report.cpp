#include "search/layout/plan_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "db/layout_json.h"

namespace wavetune::search {
namespace {

constexpr double bytes_in_gb = 1e9;
constexpr std::size_t shown_estimates = 6;

std::string load_of(const db::LoadPoint& point) {
  return point.rate > 0 ? fmt::format("{:.2f}/s", point.rate) : fmt::format("{} cl.", point.clients);
}

bool is_chosen(const db::LayoutRow& row, const db::Layout& layout) {
  return row.tp == layout.tp && row.dp == layout.dp;
}

std::string load_table(const PlanReport& report) {
  const db::Layout& layout = report.plan->layout;
  std::string text = fmt::format("   {:>3} {:>3} {:>9} {:>11} {:>9} {:>9} {:>9} {:>8}\n", "tp", "dp", "load",
                                 "tok/s/node", "TTFT p50", "TTFT p95", "TPOT ms", "success");
  for (const db::LayoutRow& row : layout.table) {
    for (const db::LoadPoint& point : row.load) {
      const bool knee = point.rate > 0 && point.rate == row.knee_rate;
      text += fmt::format(" {} {:>3} {:>3} {:>9} {:>11.0f} {:>7.2f} s {:>7.2f} s {:>9.2f} {:>6.1f} %{}\n",
                          is_chosen(row, layout) ? '*' : ' ', row.tp, row.dp, load_of(point), point.tokens_per_s,
                          point.ttft_p50_s, point.ttft_p95_s, point.tpot_ms, 100 * point.success, knee ? "  knee" : "");
    }
  }
  return text;
}

std::string layout_table(const PlanReport& report) {
  const db::Layout& layout = report.plan->layout;
  const double price = report.options->gpu_hour;
  std::string text = fmt::format("   {:>3} {:>3} {:>10} {:>10} {:>10} {:>10} {:>11} {:>11} {:>9} {:>10} {:>10}{}\n",
                                 "tp", "dp", "knee tok/s", "saturated", "1 stream", "decode ms", "prefill t/s",
                                 "cache tok.", "GB/device", "measured", "published", price > 0 ? "     $/M tok" : "");
  for (const db::LayoutRow& row : layout.table) {
    if (row.load.empty()) {
      text += fmt::format("   {:>3} {:>3} {}: {}\n", row.tp, row.dp,
                          row.memory_bytes_per_device > 0 ? "does not fit" : "not possible", row.reason);
      continue;
    }
    text += fmt::format(
        " {} {:>3} {:>3} {:>10.0f} {:>10.0f} {:>10.1f} {:>10.2f} {:>11.0f} {:>11.0f} {:>9.1f} {:>8.0f} % {:>8.0f} %",
        is_chosen(row, layout) ? '*' : ' ', row.tp, row.dp, row.knee_tokens_per_s, row.saturated_tokens_per_s,
        row.single_stream_tokens_per_s, row.decode_step_us / 1e3, row.prefill_tokens_per_s, row.cache_tokens,
        row.memory_bytes_per_device / bytes_in_gb, 100 * row.measured_share, 100 * row.published_share);
    if (price > 0 && row.knee_tokens_per_s > 0)
      text += fmt::format(" {:>11.3f}", cost_of_million(price, layout.devices, row.knee_tokens_per_s));
    text += "\n";
  }
  return text;
}

std::string reference_table(const PlanReport& report) {
  const ReferenceRun& run = *report.reference;
  std::string text = fmt::format("\npublished beside predicted: {}\n", run.source);
  text += fmt::format("   {:>8} {:>22} {:>22} {:>22} {:>20}\n", "load", "tok/s/node", "TTFT p50 s", "TTFT p95 s",
                      "TPOT ms");
  const auto pair = [](double published, double here, int digits) {
    return published > 0 ? fmt::format("{:.{}f} / {:.{}f} ({:+.0f} %)", published, digits, here, digits,
                                       100 * (here / published - 1))
                         : fmt::format("- / {:.{}f}", here, digits);
  };
  for (std::size_t i = 0; i < run.published.size(); ++i) {
    const db::LoadPoint &there = run.published[i], &here = run.predicted.at(i);
    text += fmt::format("   {:>8} {:>22} {:>22} {:>22} {:>20}\n", load_of(here),
                        pair(there.tokens_per_s, here.tokens_per_s, 0), pair(there.ttft_p50_s, here.ttft_p50_s, 2),
                        pair(there.ttft_p95_s, here.ttft_p95_s, 2), pair(there.tpot_ms, here.tpot_ms, 1));
  }
  return text + fmt::format("   what explains the difference: {}\n", run.explanation);
}

std::string estimates_text(const db::Layout& layout) {
  std::string text;
  for (const db::LayoutRow& row : layout.table) {
    if (row.estimated.empty()) continue;
    text += fmt::format("tp {}: {} operators are estimated, not measured:", row.tp, row.estimated.size());
    for (std::size_t i = 0; i < std::min(shown_estimates, row.estimated.size()); ++i)
      text += (i == 0 ? " " : "; ") + row.estimated[i];
    text += row.estimated.size() > shown_estimates ? "; ... (--json lists all)\n" : "\n";
  }
  return text;
}

nlohmann::json reference_json(const ReferenceRun& run) {
  return {{"source", run.source},
          {"explanation", run.explanation},
          {"tp", run.tp},
          {"dp", run.dp},
          {"published", db::load_to_json(run.published)},
          {"predicted", db::load_to_json(run.predicted)}};
}

}  // namespace

std::string plan_text(const PlanReport& report) {
  const db::Layout& layout = report.plan->layout;
  std::string text = fmt::format("{} in {} on {} x {}: {}; TTFT p95 within {} s\n\n", layout.model_name,
                                 report.options->formats.name, layout.devices, report.node->name,
                                 report.options->traffic.description(), report.options->ttft_limit_s);
  text += load_table(report) + "\n" + layout_table(report);
  text += fmt::format("\nchosen for {}: tp {} x dp {}: {}\n", db::to_string(layout.objective), layout.tp, layout.dp,
                      report.plan->reason);
  if (report.reference) text += reference_table(report);
  text += "\nassumptions\n";
  for (const std::string& assumption : report.assumptions) text += "- " + assumption + "\n";
  return text + "\n" + estimates_text(layout);
}

std::string plan_event(const PlanReport& report) {
  const db::Layout& layout = report.plan->layout;
  nlohmann::json event = {{"event", "layout"},
                          {"model", layout.model_name},
                          {"model_id", layout.model_id},
                          {"weights", report.options->formats.name},
                          {"device", report.node->name},
                          {"devices", layout.devices},
                          {"workload", report.options->traffic.description()},
                          {"ttft_limit_s", report.options->ttft_limit_s},
                          {"objective", db::to_string(layout.objective)},
                          {"tp", layout.tp},
                          {"dp", layout.dp},
                          {"reason", report.plan->reason},
                          {"table", db::rows_to_json(layout.table)},
                          {"assumptions", report.assumptions}};
  if (report.reference) event["reference"] = reference_json(*report.reference);
  if (report.options->gpu_hour > 0) {
    for (std::size_t i = 0; i < layout.table.size(); ++i) {
      const double tokens_per_s = layout.table[i].knee_tokens_per_s;
      if (tokens_per_s > 0)
        event["table"][i]["cost_per_million"] = cost_of_million(report.options->gpu_hour, layout.devices, tokens_per_s);
    }
  }
  return event.dump() + "\n";
}

}  // namespace wavetune::search
