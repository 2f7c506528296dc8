#include "search/replay/plot_panel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>

#include "search/report/html.h"

namespace wavetune::replay {
namespace {

constexpr double margin_left = 58;
constexpr double margin_right = 12;
constexpr double margin_top = 30;
constexpr double margin_bottom = 44;

/// From the panel's numbers to pixels.
struct Axes {
  const Panel& panel;
  double x_min, x_max;

  double x(double value) const {
    const double part = x_max > x_min ? (value - x_min) / (x_max - x_min) : 0.5;
    return margin_left + part * (panel_width - margin_left - margin_right);
  }
  double y(double value) const {
    const auto scale = [this](double v) { return panel.log_y ? std::log(v) : v; };
    const double inside = std::clamp(value, panel.y_min, panel.y_max);
    const double part = (scale(inside) - scale(panel.y_min)) / (scale(panel.y_max) - scale(panel.y_min));
    return panel_height - margin_bottom - part * (panel_height - margin_top - margin_bottom);
  }
};

Axes axes_of(const Panel& panel) {
  Axes axes{panel, 0, 1};
  bool first = true;
  for (const PanelLine& line : panel.lines) {
    for (const double x : line.x) {
      axes.x_min = first ? x : std::min(axes.x_min, x);
      axes.x_max = first ? x : std::max(axes.x_max, x);
      first = false;
    }
  }
  return axes;
}

std::string points(const Axes& axes, const std::vector<double>& x, const std::vector<double>& y) {
  std::string text;
  for (std::size_t i = 0; i < x.size(); ++i) {
    fmt::format_to(std::back_inserter(text), "{}{:.1f},{:.1f}", i == 0 ? "" : " ", axes.x(x[i]), axes.y(y[i]));
  }
  return text;
}

std::string band_svg(const Axes& axes, const PanelLine& line) {
  if (line.low.empty()) return "";
  std::vector<double> x = line.x;
  std::vector<double> y = line.high;
  x.insert(x.end(), line.x.rbegin(), line.x.rend());
  y.insert(y.end(), line.low.rbegin(), line.low.rend());
  return fmt::format("<polygon points=\"{}\" fill=\"{}\" fill-opacity=\"0.13\"/>\n", points(axes, x, y), line.colour);
}

std::string line_svg(const Axes& axes, const PanelLine& line) {
  return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"{}/>\n",
                     points(axes, line.x, line.y), line.colour, line.dashed ? " stroke-dasharray=\"5 4\"" : "");
}

std::string frame_svg(const Panel& panel, const Axes& axes) {
  const double bottom = panel_height - margin_bottom;
  const double right = panel_width - margin_right;
  std::string svg =
      fmt::format("<text x=\"{}\" y=\"18\" class=\"title\">{}</text>\n", margin_left, report::escape(panel.title));
  for (const double tick : panel.log_y ? log_ticks(panel.y_min, panel.y_max) : ticks(panel.y_min, panel.y_max, 5)) {
    const double y = axes.y(tick);
    svg += fmt::format(
        "<line x1=\"{}\" y1=\"{:.1f}\" x2=\"{}\" y2=\"{:.1f}\" class=\"grid\"/>"
        "<text x=\"{}\" y=\"{:.1f}\" class=\"end\">{:.6g}</text>\n",
        margin_left, y, right, y, margin_left - 6, y + 4, tick);
  }
  for (const double tick : ticks(axes.x_min, axes.x_max, 5)) {
    const double x = axes.x(tick);
    svg += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{}\" x2=\"{:.1f}\" y2=\"{}\" class=\"axis\"/>"
        "<text x=\"{:.1f}\" y=\"{}\" class=\"middle\">{:.6g}</text>\n",
        x, bottom, x, bottom + 4, x, bottom + 16, tick);
  }
  svg +=
      fmt::format("<path d=\"M{} {}V{}H{}\" class=\"axis\" fill=\"none\"/>\n", margin_left, margin_top, bottom, right);
  svg += fmt::format("<text x=\"{}\" y=\"{}\" class=\"middle\">{}</text>\n", (margin_left + right) / 2,
                     panel_height - 8, report::escape(panel.x_label));
  svg += fmt::format("<text transform=\"translate(14 {}) rotate(-90)\" class=\"middle\">{}</text>\n",
                     (margin_top + bottom) / 2, report::escape(panel.y_label));
  return svg;
}

}  // namespace

std::vector<double> ticks(double low, double high, int count) {
  std::vector<double> result;
  if (!(high > low) || count < 1) return result;
  const double power = std::pow(10, std::floor(std::log10((high - low) / count)));
  double step = power;
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    step = power * factor;
    if ((high - low) / step <= count) break;
  }
  for (auto i = static_cast<std::int64_t>(std::ceil(low / step - 1e-9));
       static_cast<double>(i) * step <= high * (1 + 1e-12); ++i) {
    result.push_back(static_cast<double>(i) * step);
  }
  return result;
}

std::vector<double> log_ticks(double low, double high) {
  std::vector<double> result;
  for (double power = std::pow(10, std::floor(std::log10(low))); power <= high; power *= 10) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double tick = power * factor;
      if (tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)) result.push_back(tick);
    }
  }
  // Less than a power of ten may hold none or one of them.
  return result.size() >= 3 ? result : ticks(low, high, 5);
}

std::string panel_svg(const Panel& panel, double left, double top) {
  const Axes axes = axes_of(panel);
  std::string svg = fmt::format("<g transform=\"translate({} {})\">\n", left, top) + frame_svg(panel, axes);
  for (const PanelLine& line : panel.lines) svg += band_svg(axes, line);
  for (const PanelLine& line : panel.lines) svg += line_svg(axes, line);
  return svg + "</g>\n";
}

}  // namespace wavetune::replay
