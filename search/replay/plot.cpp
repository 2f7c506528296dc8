#include "search/replay/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "search/replay/plot_panel.h"
#include "search/report/html.h"

namespace wavetune::replay {
namespace {

// Okabe and Ito's colours, which colour-blind people tell apart, then some more.
constexpr std::array<std::string_view, 12> colours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9",
                                                      "#8c510a", "#5e3c99", "#666666", "#b2182b", "#1b7837", "#b8a000"};
constexpr std::string_view random_colour = "#000000";
constexpr std::size_t columns = 3;
constexpr double legend_line = 20;
constexpr double edge = 12;

std::vector<std::string> names_of(const std::vector<Curve>& curves) {
  std::vector<std::string> names;
  for (const Curve& curve : curves) {
    if (std::find(names.begin(), names.end(), curve.strategy) == names.end()) names.push_back(curve.strategy);
  }
  return names;
}

std::string colour_of(const std::vector<std::string>& names, const std::string& name) {
  const auto at = static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  return std::string(colours[at % colours.size()]);
}

/// Score over relative time, the mean of the spaces.
Panel mean_panel(const std::vector<ScoredSpace>& spaces, const std::vector<Curve>& curves,
                 const std::vector<std::string>& names) {
  Panel panel;
  panel.title = fmt::format("Score, mean of {} {}", spaces.size(), spaces.size() == 1 ? "space" : "spaces");
  panel.x_label = "part of the budget";
  panel.y_label = "0: random search, 1: optimum";
  panel.y_min = -0.2;
  for (const std::string& name : names) {
    PanelLine line;
    line.colour = colour_of(names, name);
    std::size_t found = 0;
    for (const Curve& curve : curves) {
      if (curve.strategy != name) continue;
      ++found;
      line.y.resize(curve.score.size());
      for (std::size_t i = 0; i < curve.score.size(); ++i) {
        line.y[i] += curve.score[i] / static_cast<double>(spaces.size());
      }
    }
    if (found != spaces.size()) continue;
    for (std::size_t i = 0; i < line.y.size(); ++i) {
      line.x.push_back(static_cast<double>(i) / static_cast<double>(std::max<std::size_t>(1, line.y.size() - 1)));
      panel.y_min = std::min(panel.y_min, std::max(-1.0, line.y[i]));
    }
    panel.lines.push_back(std::move(line));
  }
  panel.lines.push_back({{0, 1}, {0, 0}, {}, {}, std::string(random_colour), true});
  return panel;
}

Panel space_panel(const ScoredSpace& space, std::size_t index, const std::vector<Curve>& curves,
                  const std::vector<std::string>& names) {
  Panel panel;
  panel.title = space.recording.name;
  panel.x_label = "time, s";
  panel.y_label = "best so far / optimum";
  panel.log_y = true;
  panel.y_min = 1;
  panel.y_max = 1.01;
  const auto over_optimum = [&space](std::vector<double> values) {
    for (double& value : values) value /= space.statistics.optimum_ms;
    return values;
  };
  for (const Curve& curve : curves) {
    if (curve.space != index) continue;
    if (panel.lines.empty()) {
      panel.lines.push_back({curve.times_s, over_optimum(curve.random_ms), {}, {}, std::string(random_colour), true});
    }
    panel.lines.push_back({curve.times_s, over_optimum(curve.mean_ms), over_optimum(curve.low_ms),
                           over_optimum(curve.high_ms), colour_of(names, curve.strategy), false});
  }
  for (const PanelLine& line : panel.lines) {
    panel.y_max = std::max(panel.y_max, *std::max_element(line.y.begin(), line.y.end()));
  }
  return panel;
}

/// Where the i-th of many things stands when a row holds `columns`.
double column_of(std::size_t i) { return static_cast<double>(i % columns); }
double row_of(std::size_t i) {
  const std::size_t row = i / columns;
  return static_cast<double>(row);
}

std::string legend_svg(const std::vector<std::string>& names) {
  std::string svg;
  const auto entry = [&svg](std::size_t place, std::string_view colour, const std::string& text, bool dashed) {
    const double x = edge + column_of(place) * panel_width;
    const double y = edge + legend_line * (row_of(place) + 0.5);
    svg += fmt::format(
        "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{}\" stroke-width=\"2.4\"{}/>"
        "<text x=\"{}\" y=\"{}\">{}</text>\n",
        x, y, x + 26, y, colour, dashed ? " stroke-dasharray=\"5 4\"" : "", x + 34, y + 4, report::escape(text));
  };
  for (std::size_t i = 0; i < names.size(); ++i) entry(i, colour_of(names, names[i]), names[i], false);
  entry(names.size(), random_colour, "random search, calculated", true);
  return svg;
}

}  // namespace

std::string curves_svg(const std::vector<ScoredSpace>& spaces, const std::vector<Curve>& curves) {
  const std::vector<std::string> names = names_of(curves);
  std::vector<Panel> panels = {mean_panel(spaces, curves, names)};
  for (std::size_t i = 0; i < spaces.size(); ++i) panels.push_back(space_panel(spaces[i], i, curves, names));
  const auto rows_of = [](std::size_t count) { return row_of(count + columns - 1); };
  const double top = edge + legend_line * rows_of(names.size() + 1);
  const double width = 2 * edge + panel_width * static_cast<double>(std::min(columns, panels.size()));
  const double height = top + edge + panel_height * rows_of(panels.size());
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n"
      "<style>.title{{font-size:13px;font-weight:bold}}.end{{text-anchor:end}}.middle{{text-anchor:middle}}"
      ".grid{{stroke:#ddd}}.axis{{stroke:#444}}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
      width, height);
  svg += legend_svg(names);
  for (std::size_t i = 0; i < panels.size(); ++i) {
    svg += panel_svg(panels[i], edge + panel_width * column_of(i), top + panel_height * row_of(i));
  }
  return svg + "</svg>\n";
}

std::string curves_html(const std::string& svg, const std::string& report) {
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>wavetune replay</title>\n"
         "<style>body{font-family:sans-serif;margin:1.5em}pre{font-size:12px;overflow-x:auto}</style></head>\n<body>\n"
         "<h1>Strategies on recorded spaces</h1>\n" +
         svg + "<pre>" + report::escape(report) + "</pre>\n</body></html>\n";
}

}  // namespace wavetune::replay
