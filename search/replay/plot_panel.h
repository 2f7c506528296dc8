// One panel of a plot: axes with ticks, lines and bands, as SVG.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wavetune::replay {

struct PanelLine {
  std::vector<double> x, y;
  std::vector<double> low, high;  ///< a band around the line; empty: none
  std::string colour;             ///< as CSS has it
  bool dashed = false;
};

struct Panel {
  std::string title, x_label, y_label;
  std::vector<PanelLine> lines;
  double y_min = 0, y_max = 1;
  bool log_y = false;  ///< y_min must be positive
};

/// In a box of this size whose upper left corner is at (left, top), in pixels.
inline constexpr double panel_width = 430;
inline constexpr double panel_height = 300;
std::string panel_svg(const Panel& panel, double left, double top);

/// About `count` round numbers that cover [low, high]; for a logarithmic axis 1, 2 and 5 of each power of ten.
std::vector<double> ticks(double low, double high, int count);
std::vector<double> log_ticks(double low, double high);

}  // namespace wavetune::replay
