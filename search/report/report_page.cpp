#include "search/report/report_page.h"

#include <fmt/format.h>

#include <cmath>

#include "search/driver/reporter.h"
#include "search/report/html.h"

namespace wavetune::report {
namespace {

// Compiler logs are long, and their beginning tells most.
constexpr std::size_t shown_error = 400;

constexpr std::string_view style = R"(
:root { color-scheme: light dark; --ink: #1c1f23; --soft: #667; --line: #d5d9de; --paper: #fff; --accent: #1f6feb; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e8ea; --soft: #9aa3ad; --line: #3a4048; --paper: #16191d; --accent: #6ea8fe; }
}
body { font: 14px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2em auto;
       max-width: 76em; padding: 0 1em; }
h1 { font-size: 1.5em; } h2 { font-size: 1.2em; margin-top: 2em; } h3 { font-size: 1em; margin: 0 0 .3em; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .25em .6em .25em 0;
       border-bottom: 1px solid var(--line); vertical-align: top; } td.n, th.n { text-align: right; white-space: nowrap;
       font-variant-numeric: tabular-nums; }
code, pre { font: 12px/1.4 ui-monospace, monospace; overflow-wrap: anywhere; white-space: pre-wrap; }
section.shape { border-top: 1px solid var(--line); padding: 1em 0; }
.soft, .legend { color: var(--soft); } .legend span { margin-right: 1em; white-space: nowrap; }
.legend i { display: inline-block; width: .8em; height: .8em; margin-right: .3em; }
.columns { display: flex; flex-wrap: wrap; gap: 1.5em; } .columns > div { flex: 1 1 26em; min-width: 0; }
svg { max-width: 100%; } svg text { font-size: 11px; fill: var(--soft); } svg.bar { width: 100%; height: 14px; }
svg circle { fill: var(--soft); } svg .grid { stroke: var(--line); } svg .share { fill: var(--accent); }
svg .best { fill: none; stroke: var(--accent); stroke-width: 2; } svg .roofline { stroke: #d33; stroke-dasharray: 5 4; }
)";

std::string seconds_text(double seconds) {
  return seconds < 10 ? fmt::format("{:.2g} s", seconds) : search::short_duration(seconds);
}

std::string time_text(double us) { return us > 0 ? fmt::format("{:.4g}", us) : "-"; }

std::string ratio_text(double numerator, double denominator, std::string_view unit) {
  return numerator > 0 && denominator > 0 ? fmt::format("{:.2f}{}", numerator / denominator, unit) : "-";
}

double roofline(const ShapeReport& shape) { return shape.facts.roofline_us.value_or(0); }

std::string device_text(const db::Environment& e) {
  return fmt::format("{} ({}, {} compute units; {}; {} {})", e.device, e.arch, e.cu_count, e.driver, e.compiler,
                     e.compiler_version);
}

std::string outcomes_text(const Outcomes& outcomes) {
  std::string text;
  for (const auto& [outcome, count] : outcomes)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, db::to_string(outcome));
  return text;
}

std::string head(const ReportData& data, int reload_s) {
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width\"/>\n<title>wavetune: {}</title>\n<style>{}</style>\n",
      escape(data.database), style);
  if (reload_s > 0)
    html += fmt::format("<script>setTimeout(function () {{ location.reload(); }}, {});</script>\n", 1000 * reload_s);
  return html + "</head>\n<body>\n";
}

std::string overview(const ReportData& data, int reload_s) {
  std::size_t winners = 0;
  double log_gain = 0;
  int with_default = 0;
  for (const ShapeReport& shape : data.shapes) {
    winners += shape.best_us > 0 ? 1 : 0;
    if (!(shape.best_us > 0) || !(shape.default_us > 0)) continue;
    log_gain += std::log(shape.default_us / shape.best_us);
    ++with_default;
  }
  std::string html = fmt::format("<h1>Tuning report</h1>\n<p><code>{}</code>, {}{}</p>\n", escape(data.database),
                                 escape(data.made_at), reload_s > 0 ? ": tuning goes on" : "");
  html += fmt::format("<p><b>{}</b> trials of <b>{}</b> shapes, <b>{}</b> with a winner", data.trials,
                      data.shapes.size(), winners);
  if (with_default > 0) {
    html += fmt::format("; geometric mean over the default configuration <b>{:.2f}x</b> ({} shapes)",
                        std::exp(log_gain / with_default), with_default);
  }
  html += fmt::format(".<br/>Time: {} on the clock, {} in compilers (several at a time), {} in timed launches.",
                      seconds_text(data.spent.wall_s), seconds_text(data.spent.compile_s),
                      seconds_text(data.spent.kernel_s));
  if (data.other_sources > 0) {
    html += fmt::format("<br/>{} more trials were made with kernel sources that have changed since: they do not count.",
                        data.other_sources);
  }
  return html + "</p>\n";
}

std::string winners_table(const ReportData& data) {
  std::string html =
      "<h2>Winners</h2>\n<table>\n<tr><th>operator</th><th>shape</th><th class=\"n\">trials</th>"
      "<th class=\"n\">default us</th><th class=\"n\">best us</th><th class=\"n\">gain</th>"
      "<th class=\"n\">roofline us</th><th class=\"n\">of roofline</th><th>configuration</th></tr>\n";
  const bool one_device = data.shapes.front().environment == data.shapes.back().environment;
  for (const ShapeReport& shape : data.shapes) {
    html += fmt::format("<tr><td>{}/{}</td><td><code>{}</code>{}</td>", escape(shape.problem.op),
                        escape(shape.problem.dtype), escape(db::to_text(shape.problem.dims)),
                        one_device ? "" : "<br/><span class=\"soft\">" + escape(shape.environment.device) + "</span>");
    html += fmt::format("<td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>",
                        shape.times_us.size(), time_text(shape.default_us), time_text(shape.best_us),
                        ratio_text(shape.default_us, shape.best_us, "x"));
    html += fmt::format("<td class=\"n\">{}</td><td class=\"n\">{}</td><td><code>{}</code></td></tr>\n",
                        time_text(roofline(shape)), ratio_text(100 * roofline(shape), shape.best_us, " %"),
                        shape.best_us > 0 ? escape(db::to_text(shape.best)) : "no winner");
  }
  return html + "</table>\n";
}

std::string outcomes_section(const ReportData& data) {
  std::string html = "<h2>Outcomes</h2>\n" + outcomes_legend() + "<table>\n";
  const auto row = [&](const std::string& name, const Outcomes& outcomes) {
    html += fmt::format("<tr><td>{}</td><td style=\"width:45%\">{}</td><td>{}</td></tr>\n", name,
                        outcomes_svg(outcomes), outcomes_text(outcomes));
  };
  Outcomes total;
  for (const auto& [op, outcomes] : data.outcomes) {
    row(escape(op), outcomes);
    for (const auto& [outcome, count] : outcomes) total[outcome] += count;
  }
  row("<b>all</b>", total);
  return html + "</table>\n";
}

std::string importance_text(const ShapeReport& shape) {
  if (shape.ok < fewest_trials) {
    return fmt::format("<p class=\"soft\">Importance of parameters: trials with a time {}, needed {}.</p>\n", shape.ok,
                       fewest_trials);
  }
  if (shape.importance.empty()) return "<p class=\"soft\">All times are equal: no parameter matters.</p>\n";
  return "<p class=\"soft\">Share of the variance of log(time) that each parameter explains alone:</p>\n" +
         shares_svg(shape.importance);
}

std::string shape_section(const ShapeReport& shape) {
  std::string html = fmt::format("<section class=\"shape\">\n<h3><code>{}</code></h3>\n", escape(shape.problem.key()));
  html += fmt::format("<div class=\"columns\">\n<div>\n{}", curve_svg(shape.times_us, roofline(shape)));
  if (shape.facts.roofline_us) {
    html += fmt::format("<p class=\"soft\">Roofline {:.4g} us: {}.</p>\n", roofline(shape),
                        escape(shape.facts.roofline_source));
  } else {
    html += "<p class=\"soft\">No roofline is stored for this device.</p>\n";
  }
  html += "</div>\n<div>\n";
  html += fmt::format("<p>{}<br/>{}</p>\n", outcomes_svg(shape.outcomes), outcomes_text(shape.outcomes));
  html +=
      fmt::format("<p>{} on the clock, {} in compilers, {} in timed launches</p>\n", seconds_text(shape.spent.wall_s),
                  seconds_text(shape.spent.compile_s), seconds_text(shape.spent.kernel_s));
  html += importance_text(shape) + "</div>\n</div>\n";
  for (const auto& [outcome, error] : shape.errors) {
    if (error.empty()) continue;
    const std::string shown = error.size() > shown_error ? error.substr(0, shown_error) + " ..." : error;
    html += fmt::format("<details><summary>first {}</summary><pre>{}</pre></details>\n", db::to_string(outcome),
                        escape(shown));
  }
  return html + "</section>\n";
}

constexpr std::string_view methods =
    "<h2>How to read this</h2>\n<p class=\"soft\">Curves: the best time so far against the number of trials, on a log "
    "scale; dots are trials with a time, the dashed line is the roofline (the shortest time that the device's peak "
    "rates allow). Time on the clock: between a trial and the one stored before it, pauses of more than a minute left "
    "out. Importance of a parameter: main effect on log(time), the sum of squares between the groups of trials with "
    "the "
    "same value over the total, less what chance gives a grouping (epsilon squared). The trials were chosen by a "
    "search and not at random, and parameters that constraints tie together share an effect: a hint where to look, not "
    "a proof.</p>\n";

}  // namespace

std::string report_page(const ReportData& data, int reload_s) {
  std::string html = head(data, reload_s) + overview(data, reload_s);
  if (data.shapes.empty()) return html + "<p>There are no trials yet.</p>\n</body>\n</html>\n";
  html += winners_table(data) + outcomes_section(data) + "<h2>Shapes</h2>\n";
  const db::Environment* shown = nullptr;
  for (const ShapeReport& shape : data.shapes) {
    if (shown == nullptr || *shown != shape.environment)
      html += fmt::format("<p>{}</p>\n", escape(device_text(shape.environment)));
    shown = &shape.environment;
    html += shape_section(shape);
  }
  html += methods;
  return html + "</body>\n</html>\n";
}

}  // namespace wavetune::report
