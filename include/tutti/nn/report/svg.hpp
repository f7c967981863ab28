// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/detail/report/plot_panel.hpp>
#include <tutti/nn/report/metrics.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace tutti::nn {

namespace detail {

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

/// The largest y of curves; 0 if there is no point.
[[nodiscard]] inline double highest(std::vector<plot_point> const& points) {
  double most = 0;
  for (auto const& one : points) {
    most = std::max(most, one.y);
  }
  return most;
}

/// Such a unit that the largest number has few digits.
struct plot_unit {
  double size;
  char const* name;
};
[[nodiscard]] inline plot_unit unit_of_time(double seconds) {
  return seconds > 36000 ? plot_unit{3600, "%g h"} : seconds > 600 ? plot_unit{60, "%g min"} : plot_unit{1, "%g s"};
}
[[nodiscard]] inline plot_unit unit_of_bytes(double bytes) {
  constexpr double kibi = 1024;
  return bytes > 2 * kibi * kibi * kibi ? plot_unit{kibi * kibi * kibi, "GiB"}
         : bytes > 2 * kibi * kibi      ? plot_unit{kibi * kibi, "MiB"}
                                        : plot_unit{kibi, "KiB"};
}

inline void divide(std::vector<plot_point>& points, double x, double y) {
  for (auto& one : points) {
    one = {one.x / x, one.y / y};
  }
}

/// The curves of a training, over seconds.
struct training_curves {
  explicit training_curves(history const& history) {
    std::size_t const mean_of = std::max<std::size_t>(1, history.steps.size() / 200);
    for (std::size_t i = 0; i + mean_of <= history.steps.size(); i += mean_of) {
      auto const& middle = history.steps[i + mean_of / 2];
      plot_point losses{middle.seconds, 0};
      plot_point accuracies = losses;
      for (std::size_t j = i; j != i + mean_of; ++j) {
        losses.y += double{history.steps[j].loss} / static_cast<double>(mean_of);
        accuracies.y += 100 * double{history.steps[j].accuracy} / static_cast<double>(mean_of);
      }
      loss.push_back(losses);
      accuracy.push_back(accuracies);
      auto const& last = history.steps[i + mean_of - 1];
      sent.push_back({last.seconds, last.sent});
      received.push_back({last.seconds, last.received});
    }
    // Steps that exchange nothing are short: a mean over a part of the time says more than one over some steps.
    double const part = history.steps.empty() ? 0 : history.steps.back().seconds / 60;
    for (std::size_t i = 0, first = 0; i != history.steps.size(); ++i) {
      if (history.steps[i].seconds - history.steps[first == 0 ? 0 : first - 1].seconds >= part) {
        if (auto const rate = images_per_second(history.steps, first, i + 1); rate > 0) {
          throughput.push_back({(history.steps[first].seconds + history.steps[i].seconds) / 2, rate});
        }
        first = i + 1;
      }
    }
    for (auto const& one : history.epochs) {
      test_loss.push_back({one.seconds, one.test_loss});
      test_accuracy.push_back({one.seconds, 100 * one.test_accuracy});
    }
  }

  std::vector<plot_point> loss;
  std::vector<plot_point> accuracy;
  std::vector<plot_point> throughput;
  std::vector<plot_point> sent;
  std::vector<plot_point> received;
  std::vector<plot_point> test_loss;
  std::vector<plot_point> test_accuracy;
};

}  // namespace detail

/// What a picture of a training says of it in words.
struct plot_words {
  std::string title{};
  std::string below{};                       ///< the title, such as data and model
  std::string images = "all ranks' images";  ///< what loss and accuracy of the training are of
  std::string bytes = "rank 0";              ///< the rank that sent and received them
};

/// A picture, as SVG, of loss, accuracy, images per second and, if they were counted, bytes over time: of the
/// training as means over neighbouring steps, of the test after each epoch; bytes since it began. Faults are
/// upright lines.
/// @pre at least one step was made, or one epoch
[[nodiscard]] inline std::string plot_svg(history const& history, plot_words const& words) {
  detail::training_curves all(history);
  double const end = std::max({history.epochs.empty() ? 0 : history.epochs.back().seconds,
                               history.steps.empty() ? 0 : history.steps.back().seconds, 1e-3});
  auto const time = detail::unit_of_time(end);
  double const fastest = std::max(detail::highest(all.throughput), 1e-3);
  double const thousands = fastest >= 10'000 ? 1000 : 1;
  double const most_bytes = std::max(detail::highest(all.sent), detail::highest(all.received));
  auto const bytes = detail::unit_of_bytes(most_bytes);
  detail::divide(all.throughput, time.size, thousands);
  detail::divide(all.sent, time.size, bytes.size);
  detail::divide(all.received, time.size, bytes.size);
  for (auto* const one : {&all.loss, &all.accuracy, &all.test_loss, &all.test_accuracy}) {
    detail::divide(*one, time.size, 1);
  }
  double const most_loss = std::max(detail::highest(all.loss.empty() ? all.test_loss : all.loss), 1e-3);
  double worst = 100;
  for (auto const& one : all.test_accuracy) {
    worst = std::min(worst, one.y);
  }
  worst = all.test_accuracy.empty() ? 0 : worst;

  std::vector<detail::plot_panel> panels;
  double top = 66;
  bool const counted = most_bytes > 0;
  auto const panel = [&](std::string name, double low, double high, char const* labels = "%g") -> detail::plot_panel& {
    bool const last = panels.size() == (counted ? 3 : 2);
    panels.emplace_back(
        std::move(name), detail::plot_panel::area{64, top, 700, 170},
        detail::plot_panel::axes{
            .right = end / time.size, .low = low, .high = high, .x_labels = last ? time.name : "", .y_labels = labels});
    top += 220;
    return panels.back();
  };
  std::string const blue = "#2f6fb3";
  std::string const red = "#c0392b";
  panels.reserve(4);
  panel("loss (training: of " + words.images + ")", 0, std::min(1.05 * most_loss, 2.5))
      .add({"training", blue, std::move(all.loss)})
      .add({"test", red, std::move(all.test_loss), true});
  panel("accuracy (training: of " + words.images + ")",
        worst > 95   ? 90
        : worst > 80 ? 75
                     : 0,
        100, "%g %%")
      .add({"training", blue, std::move(all.accuracy)})
      .add({"test", red, std::move(all.test_accuracy), true});
  panel(thousands == 1 ? "images per second" : "thousand images per second", 0, 1.1 * fastest / thousands)
      .add({"", blue, std::move(all.throughput)});
  if (counted) {
    panel(std::string(bytes.name).append(" of ").append(words.bytes).append(" so far"), 0,
          1.1 * most_bytes / bytes.size)
        .add({"sent", blue, std::move(all.sent)})
        .add({"received", red, std::move(all.received), false, true});
  }
  std::string name = "fault";
  for (auto const& fault : history.faults) {
    double const x = fault.seconds / time.size;
    for (std::size_t i = 0; i != panels.size(); ++i) {
      panels[i].add({i == 0 ? std::exchange(name, {}) : "", "#707070", panels[i].upright(x), false, true});
    }
  }
  return detail::svg_picture(800, top - 22, words.title, words.below, panels);
}

}  // namespace tutti::nn
