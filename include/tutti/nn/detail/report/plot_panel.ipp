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

TUTTI_DECL plot_panel::plot_panel(std::string title, area rectangle, axes scales)
    : title_(std::move(title)), area_(rectangle), axes_(std::move(scales)) {}

TUTTI_DECL plot_panel& plot_panel::add(plot_curve curve) {
  curves_.push_back(std::move(curve));
  return *this;
}

TUTTI_DECL std::vector<plot_point> plot_panel::upright(double x) const {
  return {{x, axes_.low}, {x, axes_.high}};
}

TUTTI_DECL std::string plot_panel::svg() const {
  std::string s = text(area_.left, area_.top - 9, "start", title_, " font-weight=\"bold\"");
  double const bottom = area_.top + area_.height;
  double last_label = bottom + 13;  // its height; others leave room for its letters
  for (double const y : ticks(axes_.low, axes_.high)) {
    s += line(area_.left, at_y(y), area_.left + area_.width, at_y(y), "#e4e4e4");
    if (at_y(y) <= last_label - 13) {
      s += text(area_.left - 8, at_y(y) + 4, "end", axis_label(y, axes_.y_labels));
      last_label = at_y(y);
    }
  }
  double free = area_.left - 20;
  for (double const x : axes_.x_ticks.empty() ? ticks(0, axes_.right) : axes_.x_ticks) {
    s += line(at_x(x), area_.top, at_x(x), bottom, "#f0f0f0");
    if (axes_.x_labels != nullptr && at_x(x) >= free) {
      auto const words = axis_label(x, axes_.x_labels);
      s += text(at_x(x), bottom + 17, "middle", words);
      free = at_x(x) + letter * static_cast<double>(words.size()) + 8;
    }
  }
  s += line(area_.left, bottom, area_.left + area_.width, bottom, "#808080");
  std::string const clip = "clip" + fixed_text(area_.left, 0) + "-" + fixed_text(area_.top, 0);
  // The clip is slightly larger than the axes, for lines and dots on them.
  s += "<clipPath id=\"" + clip + "\"><rect x=\"" + tenths(area_.left - 4) + "\" y=\"" + tenths(area_.top - 4) +
       "\" width=\"" + tenths(area_.width + 8) + "\" height=\"" + tenths(area_.height + 5) +
       "\"/></clipPath>\n<g clip-path=\"url(#" + clip + ")\">\n";
  for (auto const& curve : curves_) {
    s += draw(curve);
  }
  return s + "</g>\n" + legend();
}

TUTTI_DECL std::string plot_panel::draw(plot_curve const& curve) const {
  std::string path;
  std::string marks;
  for (auto const& p : curve.points) {
    std::string const x = tenths(at_x(p.x));
    std::string const y = tenths(at_y(p.y));
    path.append(x).append(",").append(y).append(" ");
    if (curve.dots) {
      marks += "<circle cx=\"" + x + "\" cy=\"" + y + "\" r=\"3\" fill=\"" + curve.colour + "\"/>\n";
    }
  }
  return "<polyline fill=\"none\" stroke=\"" + curve.colour + "\" stroke-width=\"1.6\"" + dashes(curve) + " points=\"" +
         path + "\"/>\n" + marks;
}

TUTTI_DECL std::string plot_panel::legend() const {
  std::string s;
  double x = area_.left + area_.width;
  for (auto curve = curves_.rbegin(); curve != curves_.rend(); ++curve) {
    if (!curve->name.empty()) {
      double const y = area_.top - 13;
      x -= letter * static_cast<double>(curve->name.size());
      s += text(x, area_.top - 9, "start", curve->name);
      x -= 6;
      s += "<line x1=\"" + tenths(x - 22) + "\" y1=\"" + tenths(y) + "\" x2=\"" + tenths(x) + "\" y2=\"" + tenths(y) +
           "\" stroke=\"" + curve->colour + "\" stroke-width=\"2\"" + dashes(*curve) + "/>\n";
      x -= 36;
    }
  }
  return s;
}

TUTTI_DECL double plot_panel::at_x(double x) const {
  return area_.left + area_.width * x / axes_.right;
}

TUTTI_DECL double plot_panel::at_y(double y) const {
  return area_.top + area_.height * (axes_.high - y) / (axes_.high - axes_.low);
}

TUTTI_DECL std::string plot_panel::dashes(plot_curve const& curve) {
  return curve.is_dashed ? " stroke-dasharray=\"6 4\"" : "";
}

TUTTI_DECL std::string plot_panel::line(double x1, double y1, double x2, double y2, char const* colour) {
  return "<line x1=\"" + tenths(x1) + "\" y1=\"" + tenths(y1) + "\" x2=\"" + tenths(x2) + "\" y2=\"" + tenths(y2) +
         "\" stroke=\"" + colour + "\"/>\n";
}

TUTTI_DECL std::string plot_panel::text(double x, double y, char const* anchor, std::string const& label,
                                        char const* attributes) {
  return "<text x=\"" + tenths(x) + "\" y=\"" + tenths(y) + "\" text-anchor=\"" + anchor + "\"" + attributes + ">" +
         escape(label) + "</text>\n";
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

TUTTI_DECL std::string escape(std::string const& text) {
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

TUTTI_DECL std::string svg_frame(double width, double height, std::string const& title, std::string const& subtitle,
                                 std::string const& body) {
  std::string const wide = general_text(width);
  std::string const high = general_text(height);
  auto const centred_text = [&](char const* y, char const* letters, std::string const& text) {
    return std::string("<text x=\"") + general_text(width / 2) + "\" y=\"" + y +
           "\" text-anchor=\"middle\" font-size=\"" + letters + "\">" + escape(text) + "</text>\n";
  };
  return std::string("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" viewBox=\"0 0 ") + wide + " " + high +
         "\" width=\"" + wide + "\" height=\"" + high +
         "\" font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"#202020\">\n" +
         dark_colours + "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n" + centred_text("22", "14", title) +
         (subtitle.empty() ? "" : centred_text("40", "12", subtitle)) + body + "</svg>\n";
}

TUTTI_DECL std::string svg_picture(double width, double height, std::string const& title, std::string const& subtitle,
                                   std::vector<plot_panel> const& panels) {
  std::string body;
  for (auto const& panel : panels) {
    body += panel.svg();
  }
  return svg_frame(width, height, title, subtitle, body);
}

}  // namespace tutti::nn::detail::report
