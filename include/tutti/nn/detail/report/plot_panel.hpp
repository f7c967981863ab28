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
  std::string name;  ///< name in the legend; empty: not in the legend
  std::string colour;
  std::vector<plot_point> points;
  bool dots = false;
  bool is_dashed = false;  ///< true if it may overlap another curve
};

/// Escapes a text for XML.
[[nodiscard]] TUTTI_DECL std::string escape(std::string const& text);

/// A rectangle of an SVG picture: title and legend at the top, axes and curves inside, labels of the axes around it,
/// which need 60 on the left and 22 below. Curves are clipped to the axes.
class plot_panel {
 public:
  struct area {
    double left = 0;
    double top = 0;
    double width = 0;
    double height = 0;
  };
  /// The ranges of the two axes; the x axis begins at 0.
  struct axes {
    double right = 1;
    double low = 0;
    double high = 1;
    char const* x_labels = nullptr;  ///< unit behind the numbers of the axis, such as " s"; null: no numbers
    char const* y_labels = "";
    std::vector<double> x_ticks{};  ///< empty: chosen automatically
  };

  /// @pre right > 0, high > low
  plot_panel(std::string title, area rectangle, axes scales);

  plot_panel& add(plot_curve curve);

  /// A vertical line from the bottom to the top.
  [[nodiscard]] std::vector<plot_point> upright(double x) const;

  [[nodiscard]] std::string svg() const;

 private:
  static constexpr double letter = 6.8;  // approximate width of a letter

  [[nodiscard]] std::string draw(plot_curve const& curve) const;

  /// The legend, laid out from the right, so that it ends with the panel.
  [[nodiscard]] std::string legend() const;

  [[nodiscard]] double at_x(double x) const;
  [[nodiscard]] double at_y(double y) const;

  [[nodiscard]] static std::string dashes(plot_curve const& curve);
  [[nodiscard]] static std::string line(double x1, double y1, double x2, double y2, char const* colour);
  [[nodiscard]] static std::string text(double x, double y, char const* anchor, std::string const& label,
                                        char const* attributes = "");

  /// Four to ten multiples of 1, 2 or 5 times a power of ten.
  [[nodiscard]] static std::vector<double> ticks(double low, double high);

  std::string title_;
  area area_;
  axes axes_;
  std::vector<plot_curve> curves_;
};

/// A picture of the elements in `body`, with a title, and a line below it in smaller letters, which may be empty.
[[nodiscard]] TUTTI_DECL std::string svg_frame(double width, double height, std::string const& title,
                                               std::string const& subtitle, std::string const& body);

/// A picture of panels, with a title, and a line below it in smaller letters, which may be empty.
[[nodiscard]] TUTTI_DECL std::string svg_picture(double width, double height, std::string const& title,
                                                 std::string const& subtitle, std::vector<plot_panel> const& panels);

}  // namespace tutti::nn::detail::report

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/report/plot_panel.ipp>
#endif
