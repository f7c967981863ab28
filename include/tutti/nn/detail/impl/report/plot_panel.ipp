// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/detail/report/plot_panel.hpp>

#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail {

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
  for (double const y : ticks(shown_.low, shown_.high)) {
    s += line(where_.left, at_y(y), where_.left + where_.width, at_y(y), "#e4e4e4");
    s += text(where_.left - 8, at_y(y) + 4, "end", number(shown_.y_labels, y));
  }
  double const bottom = where_.top + where_.height;
  double free = where_.left - 20;
  for (double const x : shown_.x_ticks.empty() ? ticks(0, shown_.right) : shown_.x_ticks) {
    s += line(at_x(x), where_.top, at_x(x), bottom, "#f0f0f0");
    if (*shown_.x_labels != 0 && at_x(x) >= free) {
      auto const label = number(shown_.x_labels, x);
      s += text(at_x(x), bottom + 17, "middle", label);
      free = at_x(x) + letter * static_cast<double>(label.size()) + 8;
    }
  }
  s += line(where_.left, bottom, where_.left + where_.width, bottom, "#808080");
  std::string const clip = number("clip%.0f", where_.left) + number("-%.0f", where_.top);
  // A little more than the axes, for lines and dots upon them.
  s += "<clipPath id=\"" + clip + "\"><rect x=\"" + number("%.1f", where_.left - 4) + "\" y=\"" +
       number("%.1f", where_.top - 4) + "\" width=\"" + number("%.1f", where_.width + 8) + "\" height=\"" +
       number("%.1f", where_.height + 5) + "\"/></clipPath>\n<g clip-path=\"url(#" + clip + ")\">\n";
  for (auto const& one : curves_) {
    s += drawn(one);
  }
  return s + "</g>\n" + legend();
}

TUTTI_DECL std::string plot_panel::drawn(plot_curve const& one) const {
  std::string path;
  std::string marks;
  for (auto const& p : one.points) {
    std::string const x = number("%.1f", at_x(p.x));
    std::string const y = number("%.1f", at_y(p.y));
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
      s += text(x, where_.top - 9, "end", one->name);
      x -= letter * static_cast<double>(one->name.size()) + 6;
      s += "<line x1=\"" + number("%.1f", x - 22) + "\" y1=\"" + number("%.1f", y) + "\" x2=\"" + number("%.1f", x) +
           "\" y2=\"" + number("%.1f", y) + "\" stroke=\"" + one->colour + "\" stroke-width=\"2\"" + dashes(*one) +
           "/>\n";
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

TUTTI_DECL std::string plot_panel::number(char const* format, double value) {
  char digits[64];
  std::snprintf(digits, sizeof digits, format, value);
  return digits;
}

TUTTI_DECL std::string plot_panel::line(double x1, double y1, double x2, double y2, char const* colour) {
  return "<line x1=\"" + number("%.1f", x1) + "\" y1=\"" + number("%.1f", y1) + "\" x2=\"" + number("%.1f", x2) +
         "\" y2=\"" + number("%.1f", y2) + "\" stroke=\"" + colour + "\"/>\n";
}

TUTTI_DECL std::string plot_panel::text(double x, double y, char const* anchor, std::string const& what,
                                        char const* more) {
  return "<text x=\"" + number("%.1f", x) + "\" y=\"" + number("%.1f", y) + "\" text-anchor=\"" + anchor + "\"" + more +
         ">" + escaped(what) + "</text>\n";
}

TUTTI_DECL std::vector<double> plot_panel::ticks(double low, double high) {
  double step = std::pow(10, std::floor(std::log10((high - low) / 4)));
  step *= (high - low) / step > 20 ? 5 : (high - low) / step > 8 ? 2 : 1;
  std::vector<double> result;
  for (double i = std::ceil(low / step - 1e-9) + 0.0; i * step <= high + step * 1e-9; ++i) {  // no -0
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

TUTTI_DECL std::string svg_picture(double width, double height, std::string const& title, std::string const& below,
                                   std::vector<plot_panel> const& panels) {
  char size[96];
  std::snprintf(size, sizeof size, "%g %g\" width=\"%g\" height=\"%g", width, height, width, height);
  char middle[32];
  std::snprintf(middle, sizeof middle, "%g", width / 2);
  auto const centred = [&](char const* y, char const* letters, std::string const& text) {
    return std::string("<text x=\"") + middle + "\" y=\"" + y + "\" text-anchor=\"middle\" font-size=\"" + letters +
           "\">" + escaped(text) + "</text>\n";
  };
  std::string s = std::string("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ") + size +
                  "\" font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"#202020\">\n"
                  "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n" +
                  centred("22", "14", title) + (below.empty() ? "" : centred("40", "12", below));
  for (auto const& one : panels) {
    s += one.svg();
  }
  return s + "</svg>\n";
}

}  // namespace tutti::nn::detail
