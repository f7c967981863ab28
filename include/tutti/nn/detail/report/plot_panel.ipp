// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/number_text.hpp>
#include <tutti/nn/detail/report/plot_panel.hpp>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline report {

using tutti::detail::fixed_text;
using tutti::detail::general_text;

inline std::string tenths(double value) {
  return fixed_text(value, 1);
}

inline std::string axis_label(double value, char const* unit) {
  return unit == nullptr ? std::string() : general_text(value) + unit;
}

TUTTI_DECL plot_panel::plot_panel(std::string title, area where, axes shown)
    : title_(std::move(title)), where_(where), shown_(std::move(shown)) {}

TUTTI_DECL plot_panel& plot_panel::add(plot_curve one) {
  curves_.push_back(std::move(one));
  return *this;
}

TUTTI_DECL std::vector<plot_point> plot_panel::upright(double x) const {
  return {{x, shown_.low}, {x, shown_.high}};
}

TUTTI_DECL std::string plot_panel::svg() const {
  std::string s = text(where_.left, where_.top - 9, "start", title_, " font-weight=\"bold\"");
  double const bottom = where_.top + where_.height;
  double above = bottom + 13;  // of the last label; others leave room for its letters
  for (double const y : ticks(shown_.low, shown_.high)) {
    s += line(where_.left, at_y(y), where_.left + where_.width, at_y(y), "#e4e4e4");
    if (at_y(y) <= above - 13) {
      s += text(where_.left - 8, at_y(y) + 4, "end", axis_label(y, shown_.y_labels));
      above = at_y(y);
    }
  }
  double free = where_.left - 20;
  for (double const x : shown_.x_ticks.empty() ? ticks(0, shown_.right) : shown_.x_ticks) {
    s += line(at_x(x), where_.top, at_x(x), bottom, "#f0f0f0");
    if (shown_.x_labels != nullptr && at_x(x) >= free) {
      auto const words = axis_label(x, shown_.x_labels);
      s += text(at_x(x), bottom + 17, "middle", words);
      free = at_x(x) + letter * static_cast<double>(words.size()) + 8;
    }
  }
  s += line(where_.left, bottom, where_.left + where_.width, bottom, "#808080");
  std::string const clip = "clip" + fixed_text(where_.left, 0) + "-" + fixed_text(where_.top, 0);
  // The clip is slightly larger than the axes, for lines and dots on them.
  s += "<clipPath id=\"" + clip + "\"><rect x=\"" + tenths(where_.left - 4) + "\" y=\"" + tenths(where_.top - 4) +
       "\" width=\"" + tenths(where_.width + 8) + "\" height=\"" + tenths(where_.height + 5) +
       "\"/></clipPath>\n<g clip-path=\"url(#" + clip + ")\">\n";
  for (auto const& one : curves_) {
    s += drawn(one);
  }
  return s + "</g>\n" + legend();
}

TUTTI_DECL std::string plot_panel::drawn(plot_curve const& one) const {
  std::string path;
  std::string marks;
  for (auto const& p : one.points) {
    std::string const x = tenths(at_x(p.x));
    std::string const y = tenths(at_y(p.y));
    path.append(x).append(",").append(y).append(" ");
    if (one.dots) {
      marks += "<circle cx=\"" + x + "\" cy=\"" + y + "\" r=\"3\" fill=\"" + one.colour + "\"/>\n";
    }
  }
  return "<polyline fill=\"none\" stroke=\"" + one.colour + "\" stroke-width=\"1.6\"" + dashes(one) + " points=\"" +
         path + "\"/>\n" + marks;
}

TUTTI_DECL std::string plot_panel::legend() const {
  std::string s;
  double x = where_.left + where_.width;
  for (auto one = curves_.rbegin(); one != curves_.rend(); ++one) {
    if (!one->name.empty()) {
      double const y = where_.top - 13;
      x -= letter * static_cast<double>(one->name.size());
      s += text(x, where_.top - 9, "start", one->name);
      x -= 6;
      s += "<line x1=\"" + tenths(x - 22) + "\" y1=\"" + tenths(y) + "\" x2=\"" + tenths(x) + "\" y2=\"" + tenths(y) +
           "\" stroke=\"" + one->colour + "\" stroke-width=\"2\"" + dashes(*one) + "/>\n";
      x -= 36;
    }
  }
  return s;
}

TUTTI_DECL double plot_panel::at_x(double x) const {
  return where_.left + where_.width * x / shown_.right;
}

TUTTI_DECL double plot_panel::at_y(double y) const {
  return where_.top + where_.height * (shown_.high - y) / (shown_.high - shown_.low);
}

TUTTI_DECL std::string plot_panel::dashes(plot_curve const& one) {
  return one.dashed ? " stroke-dasharray=\"6 4\"" : "";
}

TUTTI_DECL std::string plot_panel::line(double x1, double y1, double x2, double y2, char const* colour) {
  return "<line x1=\"" + tenths(x1) + "\" y1=\"" + tenths(y1) + "\" x2=\"" + tenths(x2) + "\" y2=\"" + tenths(y2) +
         "\" stroke=\"" + colour + "\"/>\n";
}

TUTTI_DECL std::string plot_panel::text(double x, double y, char const* anchor, std::string const& what,
                                        char const* more) {
  return "<text x=\"" + tenths(x) + "\" y=\"" + tenths(y) + "\" text-anchor=\"" + anchor + "\"" + more + ">" +
         escaped(what) + "</text>\n";
}

TUTTI_DECL std::vector<double> plot_panel::ticks(double low, double high) {
  double step = std::pow(10, std::floor(std::log10((high - low) / 4)));
  step *= (high - low) / step > 20 ? 5 : (high - low) / step > 8 ? 2 : 1;
  std::vector<double> result;
  for (double i = std::ceil(low / step - 1e-9) + 0.0; i * step <= high + step * 1e-9; ++i) {  // + 0.0 avoids -0
    result.push_back(i * step);
  }
  return result;
}

TUTTI_DECL std::string escaped(std::string const& text) {
  std::string result;
  for (char const c : text) {
    result += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  }
  return result;
}

/// The colours on a dark system, by those on a light one, which are the attributes of all elements.
inline constexpr char const* dark_colours =
    "<style>@media (prefers-color-scheme:dark){"
    ".plot{fill:#dfe3e8}.plot [fill=white]{fill:#15191e}"
    ".plot [stroke=\"#e4e4e4\"]{stroke:#343b44}.plot [stroke=\"#f0f0f0\"]{stroke:#262c33}"
    ".plot [stroke=\"#808080\"],.plot [stroke=\"#707070\"]{stroke:#9aa4af}"
    ".plot [stroke=\"#2f6fb3\"]{stroke:#6db1f2}.plot [fill=\"#2f6fb3\"]{fill:#6db1f2}"
    ".plot [stroke=\"#c0392b\"]{stroke:#ff8a7d}.plot [fill=\"#c0392b\"]{fill:#ff8a7d}"
    ".plot [stroke=\"#2e8b57\"]{stroke:#5fd394}.plot [stroke=\"#7b4fa3\"]{stroke:#c79df0}"
    "}</style>\n";

TUTTI_DECL std::string svg_picture(double width, double height, std::string const& title, std::string const& below,
                                   std::vector<plot_panel> const& panels) {
  std::string const wide = general_text(width);
  std::string const high = general_text(height);
  auto const centred = [&](char const* y, char const* letters, std::string const& text) {
    return std::string("<text x=\"") + general_text(width / 2) + "\" y=\"" + y +
           "\" text-anchor=\"middle\" font-size=\"" + letters + "\">" + escaped(text) + "</text>\n";
  };
  std::string s = std::string("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" viewBox=\"0 0 ") + wide + " " +
                  high + "\" width=\"" + wide + "\" height=\"" + high +
                  "\" font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"#202020\">\n" +
                  dark_colours + "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n" +
                  centred("22", "14", title) + (below.empty() ? "" : centred("40", "12", below));
  for (auto const& one : panels) {
    s += one.svg();
  }
  return s + "</svg>\n";
}

}  // namespace tutti::nn::detail::report
