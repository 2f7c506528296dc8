#include "search/report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace wavetune::report {
namespace {

constexpr int width = 560;
constexpr int height = 200;
constexpr int left = 64;
constexpr int right = 10;
constexpr int top = 10;
constexpr int bottom = 26;
// A page of many shapes stays small: of more trials, every n-th dot is drawn.
constexpr std::size_t most_dots = 400;

/// Length of the valid UTF-8 sequence at the beginning of `text`; 0 when there is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0x80                    ? 1
                             : first >= 0xc2 && first < 0xe0 ? 2
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, beyond U+10FFFF.
  if (length == 3 && ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) >= 0xa0))) return 0;
  if (length == 4 && ((first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) >= 0x90))) return 0;
  return length;
}

std::string_view color(db::Outcome outcome) {
  switch (outcome) {
    case db::Outcome::ok:
      return "#2e8b57";
    case db::Outcome::compile_error:
      return "#d2691e";
    case db::Outcome::compile_crash:
      return "#a0522d";
    case db::Outcome::compile_timeout:
      return "#deb887";
    case db::Outcome::resource_limit:
      return "#9aa0a6";
    case db::Outcome::launch_error:
      return "#c71585";
    case db::Outcome::fault:
      return "#b22222";
    case db::Outcome::timeout:
      return "#e6b800";
    case db::Outcome::wrong:
      return "#7b3fa0";
    case db::Outcome::pruned:
      return "#c8ccd0";
  }
  return "#000000";
}

/// Maps times to heights on a log scale.
struct Scale {
  double low = 1;
  double high = 10;

  double y(double us) const {
    const double part = (std::log(us) - std::log(low)) / (std::log(high) - std::log(low));
    return height - bottom - part * (height - top - bottom);
  }
};

/// 1, 2 and 5 times powers of ten between the ends, at most about six of them.
std::vector<double> ticks(const Scale& scale) {
  std::vector<double> all;
  for (double power = std::pow(10, std::floor(std::log10(scale.low))); power <= scale.high; power *= 10) {
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double value = power * digit;
      if (value >= scale.low && value <= scale.high) all.push_back(value);
    }
  }
  if (all.size() > 6)
    std::erase_if(all, [](double value) {
      const double digit = value / std::pow(10, std::floor(std::log10(value) + 1e-9));
      return digit > 1.5;
    });
  return all;
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char c = text.front();
    const bool control = (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f;
    if (length == 0 || control) {
      out += "\xef\xbf\xbd";
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\'') {
      out += "&#39;";
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return out;
}

std::string curve_svg(const std::vector<double>& times_us, double roofline_us) {
  Scale scale{0, 0};
  const auto cover = [&](double us) {
    if (!(us > 0)) return;
    scale.low = scale.low > 0 ? std::min(scale.low, us) : us;
    scale.high = std::max(scale.high, us);
  };
  for (const double us : times_us) cover(us);
  if (!(scale.low > 0)) return "<p>No trial has a time.</p>\n";
  cover(roofline_us);
  scale.low /= 1.15;
  scale.high *= 1.15;
  const double step = static_cast<double>(width - left - right) / static_cast<double>(times_us.size());
  const auto x = [&](std::size_t trials) { return left + step * static_cast<double>(trials); };
  std::string svg = fmt::format("<svg class=\"curve\" viewBox=\"0 0 {} {}\" role=\"img\">\n", width, height);
  for (const double tick : ticks(scale)) {
    svg += fmt::format("<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", left, width - right,
                       scale.y(tick), scale.y(tick));
    svg += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:g} us</text>\n", left - 6, scale.y(tick) + 4,
                       tick);
  }
  svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{} trial{}</text>\n", width - right, height - 8,
                     times_us.size(), times_us.size() == 1 ? "" : "s");
  if (roofline_us > 0) {
    svg += fmt::format(
        "<line class=\"roofline\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"><title>roofline {:.4g} us</title>"
        "</line>\n",
        left, width - right, scale.y(roofline_us), scale.y(roofline_us), roofline_us);
  }
  const std::size_t stride = 1 + times_us.size() / most_dots;
  double best = 0;
  std::string line;
  for (std::size_t i = 0; i < times_us.size(); ++i) {
    const double us = times_us[i];
    if (!(us > 0)) continue;
    const bool better = best <= 0 || us < best;
    if (better || i % stride == 0)
      svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"1.6\"/>", x(i + 1), scale.y(us));
    if (!better) continue;
    line += fmt::format("{}{:.1f} ", best <= 0 ? "M" : "H", x(i + 1));
    line += fmt::format("{}{:.1f} ", best <= 0 ? "" : "V", scale.y(us));
    best = us;
  }
  svg += fmt::format("\n<path class=\"best\" d=\"{}H{}\"/>\n</svg>\n", line, width - right);
  return svg;
}

std::string outcomes_svg(const Outcomes& outcomes) {
  std::int64_t all = 0;
  for (const auto& [outcome, count] : outcomes) all += count;
  std::string svg = "<svg class=\"bar\" viewBox=\"0 0 400 14\" preserveAspectRatio=\"none\" role=\"img\">";
  double at = 0;
  for (const auto& [outcome, count] : outcomes) {
    const double part = 400.0 * static_cast<double>(count) / static_cast<double>(std::max<std::int64_t>(1, all));
    svg +=
        fmt::format("<rect x=\"{:.2f}\" y=\"0\" width=\"{:.2f}\" height=\"14\" fill=\"{}\"><title>{} {}</title></rect>",
                    at, part, color(outcome), count, db::to_string(outcome));
    at += part;
  }
  return svg + "</svg>";
}

std::string outcomes_legend() {
  std::string html = "<p class=\"legend\">";
  for (const db::Outcome outcome : db::all_outcomes)
    html += fmt::format("<span><i style=\"background:{}\"></i>{}</span> ", color(outcome), db::to_string(outcome));
  return html + "</p>\n";
}

std::string shares_svg(const std::vector<ParameterShare>& shares) {
  constexpr int row = 18;
  std::string svg = fmt::format("<svg class=\"shares\" viewBox=\"0 0 {} {}\" role=\"img\">\n", width,
                                row * static_cast<int>(shares.size()));
  int y = 0;
  for (const ParameterShare& share : shares) {
    svg += fmt::format("<text x=\"150\" y=\"{}\" text-anchor=\"end\">{}</text>", y + 13, escape(share.name));
    svg += fmt::format("<rect class=\"share\" x=\"158\" y=\"{}\" width=\"{:.1f}\" height=\"12\"/>", y + 3,
                       share.share * 340);
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\">{:.0f} %</text>\n", 164 + share.share * 340, y + 13,
                       100 * share.share);
    y += row;
  }
  return svg + "</svg>\n";
}

}  // namespace wavetune::report
