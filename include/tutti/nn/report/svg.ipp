// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/detail/report/plot_panel.hpp>
#include <tutti/nn/detail/report/training_curves.hpp>
#include <tutti/nn/detail/report/usage_panels.hpp>
#include <tutti/nn/report/svg.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn {

TUTTI_DECL std::string plot_svg(history const& history, plot_words const& words, std::vector<usage> const& ranks) {
  detail::training_curves curves(history);
  double const end = (std::max)({history.epochs.empty() ? 0 : history.epochs.back().seconds,
                                 history.steps.empty() ? 0 : history.steps.back().seconds, 1e-3});
  auto const time = detail::unit_of_time(end);
  double const fastest = (std::max)(detail::highest(curves.throughput), 1e-3);
  double const thousands = fastest >= 10'000 ? 1000 : 1;
  double const max_bytes = (std::max)(detail::highest(curves.sent_bytes), detail::highest(curves.received_bytes));
  auto const bytes = detail::unit_of_bytes(max_bytes);
  detail::divide(curves.throughput, time.size, thousands);
  detail::divide(curves.sent_bytes, time.size, bytes.size);
  detail::divide(curves.received_bytes, time.size, bytes.size);
  for (auto* const curve : {&curves.loss, &curves.accuracy, &curves.test_loss, &curves.test_accuracy}) {
    detail::divide(*curve, time.size, 1);
  }
  double const max_loss = (std::max)(detail::highest(curves.loss.empty() ? curves.test_loss : curves.loss), 1e-3);
  double worst = 100;
  for (auto const& point : curves.test_accuracy) {
    worst = (std::min)(worst, point.y);
  }
  worst = curves.test_accuracy.empty() ? 0 : worst;

  std::vector<detail::plot_panel> panels;
  double top = 80;
  bool const has_bytes = max_bytes > 0;
  auto const panel = [&](std::string name, double low, double high, char const* labels = "") -> detail::plot_panel& {
    bool const last = panels.size() == (has_bytes ? 3 : 2);
    panels.emplace_back(std::move(name), detail::plot_panel::area{64, top, 700, 170},
                        detail::plot_panel::axes{.right = end / time.size,
                                                 .low = low,
                                                 .high = high,
                                                 .x_labels = last ? time.name : nullptr,
                                                 .y_labels = labels});
    top += 220;
    return panels.back();
  };
  std::string const blue = "#2f6fb3";
  std::string const red = "#c0392b";
  panels.reserve(4);
  panel("loss (training: of " + words.images + ")", 0, (std::min)(1.05 * max_loss, 2.5))
      .add({"training", blue, std::move(curves.loss)})
      .add({"test", red, std::move(curves.test_loss), true});
  panel("accuracy (training: of " + words.images + ")",
        worst > 95   ? 90
        : worst > 80 ? 75
                     : 0,
        100, " %")
      .add({"training", blue, std::move(curves.accuracy)})
      .add({"test", red, std::move(curves.test_accuracy), true});
  panel(thousands == 1 ? "images per second" : "thousand images per second", 0, 1.1 * fastest / thousands)
      .add({"", blue, std::move(curves.throughput)});
  if (has_bytes) {
    panel(std::string(bytes.name).append(" of ").append(words.bytes).append(" so far"), 0, 1.1 * max_bytes / bytes.size)
        .add({"sent", blue, std::move(curves.sent_bytes)})
        .add({"received", red, std::move(curves.received_bytes), false, true});
  }
  std::string name = "fault";
  for (auto const& fault : history.faults) {
    double const x = fault.seconds / time.size;
    for (std::size_t i = 0; i != panels.size(); ++i) {
      panels[i].add({i == 0 ? std::exchange(name, {}) : "", "#707070", panels[i].upright(x), false, true});
    }
  }
  for (auto& usage_panel : detail::usage_panels(ranks, history.faults, top)) {
    panels.push_back(std::move(usage_panel));
  }
  return detail::svg_picture(800, top - 22, words.title, words.subtitle, panels);
}

}  // namespace tutti::nn
