// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>

#include <string>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline report {

struct plot_point {
  double x = 0;
  double y = 0;
};

struct plot_curve {
  std::string name;  ///< in the legend; empty: it is not there
  std::string colour;
  std::vector<plot_point> points;
  bool dots = false;
  bool dashed = false;  ///< where it may lie upon another one
};

/// As text of XML.
[[nodiscard]] TUTTI_DECL std::string escaped(std::string const& text);

/// A rectangle of an SVG picture: a title and a legend above it, axes and curves in it, labels of the axes around it,
/// for which it takes 60 to the left and 22 below. What lies outside of the axes is cut off.
class plot_panel {
 public:
  struct area {
    double left = 0;
    double top = 0;
    double width = 0;
    double height = 0;
  };
  /// What the two axes show; the first begins at 0.
  struct axes {
    double right = 1;
    double low = 0;
    double high = 1;
    char const* x_labels = nullptr;  ///< the unit behind the numbers of the axis, " s"; null: there are no numbers
    char const* y_labels = "";
    std::vector<double> x_ticks{};  ///< empty: where they look well
  };

  /// @pre right > 0, high > low
  plot_panel(std::string title, area where, axes shown);

  plot_panel& add(plot_curve one);

  /// A line from the bottom to the top.
  [[nodiscard]] std::vector<plot_point> upright(double x) const;

  [[nodiscard]] std::string svg() const;

 private:
  static constexpr double letter = 6.8;  // about as wide as one is

  [[nodiscard]] std::string drawn(plot_curve const& one) const;

  /// From the right on, so that it ends with the panel.
  [[nodiscard]] std::string legend() const;

  [[nodiscard]] double at_x(double x) const;
  [[nodiscard]] double at_y(double y) const;

  [[nodiscard]] static std::string dashes(plot_curve const& one);
  [[nodiscard]] static std::string line(double x1, double y1, double x2, double y2, char const* colour);
  [[nodiscard]] static std::string text(double x, double y, char const* anchor, std::string const& what,
                                        char const* more = "");

  /// Between four and ten multiples of 1, 2 or 5 times a power of ten.
  [[nodiscard]] static std::vector<double> ticks(double low, double high);

  std::string title_;
  area where_;
  axes shown_;
  std::vector<plot_curve> curves_;
};

/// A picture of panels, with a title, and below it a line in smaller letters that may be empty.
[[nodiscard]] TUTTI_DECL std::string svg_picture(double width, double height, std::string const& title,
                                                 std::string const& below, std::vector<plot_panel> const& panels);

}  // namespace tutti::nn::detail::report

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/report/plot_panel.ipp>
#endif
