// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/report/metrics.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace tutti::nn {

namespace detail {

struct plot_point {
  double x = 0;
  double y = 0;
};

/// A rectangle of an SVG picture with an x axis, a y axis and curves.
class plot_panel {
 public:
  plot_panel(double top, double right, double low, double high) : top_(top), right_(right), low_(low), high_(high) {}

  [[nodiscard]] std::string frame(std::string const& title, char const* tick_format, bool with_time) const {
    std::string s = text(left, top_ - 10, "start", title);
    for (double const y : ticks(low_, high_)) {
      s += line(left, at_y(y), left + width, at_y(y), "#e0e0e0") +
           text(left - 8, at_y(y) + 4, "end", number(tick_format, y));
    }
    for (double const x : ticks(0, right_)) {
      s += line(at_x(x), top_, at_x(x), top_ + height, "#f0f0f0");
      if (with_time) {
        s += text(at_x(x), top_ + height + 18, "middle", number("%g s", x));
      }
    }
    return s + line(left, top_ + height, left + width, top_ + height, "#808080");
  }

  [[nodiscard]] std::string curve(std::vector<plot_point> const& points, std::string const& colour, bool dots) const {
    std::string path;
    std::string marks;
    for (auto const& p : points) {
      std::string const x = number("%.1f", at_x(p.x));
      std::string const y = number("%.1f", at_y(std::clamp(p.y, low_, high_)));
      path += x + "," + y + " ";
      marks += "<circle cx=\"" + x + "\" cy=\"" + y + "\" r=\"3.5\" fill=\"" + colour + "\"/>\n";
    }
    return "<polyline fill=\"none\" stroke=\"" + colour + "\" stroke-width=\"1.6\" points=\"" + path + "\"/>\n" +
           (dots ? marks : "");
  }

  [[nodiscard]] std::string legend(std::size_t row, std::string const& name, std::string const& colour) const {
    double const y = top_ + 14 + 18 * static_cast<double>(row);
    return line(left + width - 110, y, left + width - 88, y, colour) + text(left + width - 80, y + 4, "start", name);
  }

 private:
  static constexpr double left = 70;
  static constexpr double width = 700;
  static constexpr double height = 210;

  [[nodiscard]] double at_x(double x) const { return left + width * x / right_; }
  [[nodiscard]] double at_y(double y) const { return top_ + height * (high_ - y) / (high_ - low_); }

  [[nodiscard]] static std::string number(char const* format, double value) {
    char digits[64];
    std::snprintf(digits, sizeof digits, format, value);
    return digits;
  }
  [[nodiscard]] static std::string line(double x1, double y1, double x2, double y2, std::string const& colour) {
    return "<line x1=\"" + number("%.1f", x1) + "\" y1=\"" + number("%.1f", y1) + "\" x2=\"" + number("%.1f", x2) +
           "\" y2=\"" + number("%.1f", y2) + "\" stroke=\"" + colour + "\"/>\n";
  }
  [[nodiscard]] static std::string text(double x, double y, std::string const& anchor, std::string const& what) {
    return "<text x=\"" + number("%.1f", x) + "\" y=\"" + number("%.1f", y) + "\" text-anchor=\"" + anchor + "\">" +
           what + "</text>\n";
  }

  /// Between four and ten multiples of 1, 2 or 5 times a power of ten.
  [[nodiscard]] static std::vector<double> ticks(double low, double high) {
    double step = std::pow(10, std::floor(std::log10((high - low) / 4)));
    step *= (high - low) / step > 20 ? 5 : (high - low) / step > 8 ? 2 : 1;
    std::vector<double> result;
    for (double i = std::ceil(low / step - 1e-9) + 0.0; i * step <= high + step * 1e-9; ++i) {  // no -0
      result.push_back(i * step);
    }
    return result;
  }

  double top_;
  double right_;
  double low_;
  double high_;
};

/// In steps [first, last), which began when the one before them ended; 0 if there is none in the same epoch, as
/// between epochs there are tests.
[[nodiscard]] inline double images_per_second(std::vector<step_result> const& steps, std::size_t first,
                                              std::size_t last) {
  double images = 0;
  double time = 0;
  for (std::size_t i = std::max<std::size_t>(first, 1); i < last; ++i) {
    if (steps[i].epoch == steps[i - 1].epoch) {
      images += static_cast<double>(steps[i].images);
      time += steps[i].seconds - steps[i - 1].seconds;
    }
  }
  return time > 0 ? images / time : 0;
}

}  // namespace detail

/// A picture, as SVG, of loss, accuracy and images per second over time: of the training as means over
/// neighbouring steps, of the test after each epoch.
/// @pre at least one step was made, or one epoch
[[nodiscard]] inline std::string plot_svg(history const& seen, std::string const& title) {
  using point = detail::plot_point;
  std::vector<point> loss;
  std::vector<point> accuracy;
  std::vector<point> throughput;
  std::size_t const mean_of = std::max<std::size_t>(1, seen.steps.size() / 200);
  for (std::size_t i = 0; i + mean_of <= seen.steps.size(); i += mean_of) {
    point losses{seen.steps[i + mean_of / 2].seconds, 0};
    point accuracies = losses;
    for (std::size_t j = i; j != i + mean_of; ++j) {
      losses.y += double{seen.steps[j].loss} / static_cast<double>(mean_of);
      accuracies.y += 100 * double{seen.steps[j].accuracy} / static_cast<double>(mean_of);
    }
    loss.push_back(losses);
    accuracy.push_back(accuracies);
    if (auto const rate = detail::images_per_second(seen.steps, i, i + mean_of); rate > 0) {
      throughput.push_back({losses.x, rate});
    }
  }
  std::vector<point> test_loss;
  std::vector<point> test_accuracy;
  for (auto const& one : seen.epochs) {
    test_loss.push_back({one.seconds, one.test_loss});
    test_accuracy.push_back({one.seconds, 100 * one.test_accuracy});
  }
  auto const above = [](point const& a, point const& b) { return a.y < b.y; };
  double const end = std::max(seen.epochs.empty() ? 0 : seen.epochs.back().seconds,
                              seen.steps.empty() ? 0 : seen.steps.back().seconds);
  double const most = std::ranges::max_element(loss.empty() ? test_loss : loss, above)->y;
  double const worst = test_accuracy.empty() ? 0 : std::ranges::min_element(test_accuracy, above)->y;
  detail::plot_panel const top(60, std::max(end, 1e-3), 0, std::min(std::max(most, 1e-3), 2.5));
  detail::plot_panel const middle(320, std::max(end, 1e-3), worst > 95 ? 90 : worst > 80 ? 75 : 0, 100);
  double const fastest = throughput.empty() ? 1 : std::ranges::max_element(throughput, above)->y;
  detail::plot_panel const bottom(580, std::max(end, 1e-3), 0, 1.1 * fastest);

  std::string const training_colour = "#7aa6d8";
  std::string const test_colour = "#c0392b";
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 800 830\" font-family=\"sans-serif\" "
         "font-size=\"12\">\n<rect width=\"800\" height=\"830\" fill=\"white\"/>\n"
         "<text x=\"400\" y=\"24\" text-anchor=\"middle\" font-size=\"15\">" +
         title + "</text>\n" + top.frame("loss", "%g", false) + top.curve(loss, training_colour, false) +
         top.curve(test_loss, test_colour, true) + top.legend(0, "training", training_colour) +
         top.legend(1, "test", test_colour) + middle.frame("accuracy", "%g %%", false) +
         middle.curve(accuracy, training_colour, false) + middle.curve(test_accuracy, test_colour, true) +
         bottom.frame("images per second", "%g", true) + bottom.curve(throughput, training_colour, false) + "</svg>\n";
}

}  // namespace tutti::nn
