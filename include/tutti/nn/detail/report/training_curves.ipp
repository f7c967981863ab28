// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/detail/report/training_curves.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline report {

TUTTI_DECL training_curves::training_curves(history const& history) {
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
    sent_bytes.push_back({last.seconds, last.bytes_sent});
    received_bytes.push_back({last.seconds, last.bytes_received});
  }
  // Averages over a part of the time, because steps without exchange are short, which makes averages over a number of
  // steps less meaningful.
  double const part = history.steps.empty() ? 0 : history.steps.back().seconds / 60;
  for (std::size_t i = 0, first = 0; i != history.steps.size(); ++i) {
    if (history.steps[i].seconds - history.steps[first == 0 ? 0 : first - 1].seconds >= part) {
      if (auto const rate = images_per_second(history.steps, first, i + 1); rate > 0) {
        throughput.push_back({(history.steps[first].seconds + history.steps[i].seconds) / 2, rate});
      }
      first = i + 1;
    }
  }
  for (auto const& epoch : history.epochs) {
    test_loss.push_back({epoch.seconds, epoch.test_loss});
    test_accuracy.push_back({epoch.seconds, 100 * epoch.test_accuracy});
  }
}

TUTTI_DECL double images_per_second(std::vector<step_result> const& steps, std::size_t first, std::size_t last) {
  double images = 0;
  double time = 0;
  for (std::size_t i = std::max<std::size_t>(first, 1); i < last; ++i) {
    if (steps[i].epoch == steps[i - 1].epoch) {
      images += static_cast<double>(steps[i].images * (steps[i].batch - steps[i - 1].batch));
      time += steps[i].seconds - steps[i - 1].seconds;
    }
  }
  return time > 0 ? images / time : 0;
}

TUTTI_DECL double highest(std::vector<plot_point> const& points) {
  double maximum = 0;
  for (auto const& point : points) {
    maximum = (std::max)(maximum, point.y);
  }
  return maximum;
}

TUTTI_DECL plot_unit unit_of_time(double seconds) {
  return seconds > 36000 ? plot_unit{3600, " h"} : seconds > 600 ? plot_unit{60, " min"} : plot_unit{1, " s"};
}

TUTTI_DECL plot_unit unit_of_bytes(double bytes) {
  constexpr double kibi = 1024;
  return bytes > 2 * kibi * kibi * kibi ? plot_unit{kibi * kibi * kibi, "GiB"}
         : bytes > 2 * kibi * kibi      ? plot_unit{kibi * kibi, "MiB"}
                                        : plot_unit{kibi, "KiB"};
}

TUTTI_DECL void divide(std::vector<plot_point>& points, double x, double y) {
  for (auto& point : points) {
    point = {point.x / x, point.y / y};
  }
}

}  // namespace tutti::nn::detail::report
