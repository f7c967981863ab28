// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/number_text.hpp>
#include <tutti/nn/detail/report/training_curves.hpp>
#include <tutti/nn/detail/report/usage_panels.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline report {

TUTTI_DECL std::vector<usage> rows_of(std::vector<usage> const& ranks) {
  if (ranks.size() <= most_usage_rows) {
    return ranks;
  }
  std::vector<usage> rows;
  std::vector<std::size_t> counts;
  for (auto const& rank : ranks) {
    std::string const kind = rank.role.substr(0, rank.role.find(' '));
    auto row = std::ranges::find(rows, kind, &usage::role);
    if (row == rows.end()) {
      rows.push_back({kind, rank.width, {}, rank.shift});
      counts.push_back(0);
      row = rows.end() - 1;
    }
    ++counts[static_cast<std::size_t>(row - rows.begin())];
    row->bins.resize((std::max)(row->bins.size(), rank.bins.size()));
    for (std::size_t i = 0; i != rank.bins.size(); ++i) {
      row->bins[i].add(rank.bins[i], 1);
    }
  }
  for (std::size_t i = 0; i != rows.size(); ++i) {
    for (auto& bin : rows[i].bins) {
      usage_bin mean;
      mean.add(bin, 1 / static_cast<double>(counts[i]));
      bin = mean;
    }
    rows[i].role =
        counts[i] == 1 ? rows[i].role + " 0" : "mean of " + std::to_string(counts[i]) + " " + rows[i].role + "s";
  }
  return rows;
}

TUTTI_DECL std::vector<double> few_ticks(double right) {
  double step = std::pow(10, std::floor(std::log10(right)));
  step *= right < 2 * step ? 0.5 : right < 5 * step ? 1 : 2;
  std::vector<double> result;
  for (int i = 0; i * step <= right; ++i) {
    result.push_back(i * step);
  }
  return result;
}

TUTTI_DECL plot_panel usage_legend(double top) {
  plot_panel legend("activity of the ranks over time", {64, top, 700, 0}, {.y_labels = nullptr});
  constexpr char const* names[] = {"computing", "updating", "waiting", "bytes out", "bytes in"};
  for (std::size_t i = 0; i != std::size(names); ++i) {
    legend.add({names[i], usage_colours[i], {}, false, i == 4});
  }
  return legend;
}

TUTTI_DECL std::vector<plot_panel> usage_panels(std::vector<usage> const& ranks,
                                                std::vector<fault_result> const& faults, double& top) {
  auto rows = rows_of(ranks);
  for (auto& row : rows) {  // merges spans to as many points as are distinguishable
    usage fine = row;
    fine.shift = 0;
    row.bins = fine.in_spans_of(row.width * std::ceil(static_cast<double>(row.bins.size()) / 64)).bins;
    row.width *= std::ceil(static_cast<double>(fine.bins.size()) / 64);
  }
  double end = 1e-3;
  double max_rate = 1;  // bytes a second
  for (auto const& row : rows) {
    end = (std::max)(end, row.shift + row.width * static_cast<double>(row.bins.size()));
    for (auto const& bin : row.bins) {
      max_rate = (std::max)(max_rate, (std::max)(bin.bytes_sent, bin.bytes_received) / row.width);
    }
  }
  auto const time = unit_of_time(end);
  auto const bytes = unit_of_bytes(max_rate);
  auto const x_ticks = few_ticks(end / time.size);
  std::vector<plot_panel> panels;
  if (!rows.empty()) {
    top += 14;
    panels.push_back(usage_legend(top));
    top += 34;
  }
  for (auto const& row : rows) {
    bool const last = &row == &rows.back();
    usage_bin const total = row.sum();
    plot_curve computing{"", usage_colours[0], {}};
    plot_curve updating{"", usage_colours[1], {}};
    plot_curve waiting{"", usage_colours[2], {}};
    plot_curve sent_bytes{"", usage_colours[3], {}};
    plot_curve received_bytes{"", usage_colours[4], {}, false, true};
    for (std::size_t i = 0; i != row.bins.size(); ++i) {
      auto const& bin = row.bins[i];
      double const x = (row.shift + (static_cast<double>(i) + 0.5) * row.width) / time.size;
      double const part = 100 / (std::max)(bin.seconds, 1e-9);
      computing.points.push_back({x, part * bin.computing});
      updating.points.push_back({x, part * bin.updating});
      waiting.points.push_back({x, part * (std::max)(0.0, bin.seconds - bin.computing - bin.updating)});
      sent_bytes.points.push_back({x, bin.bytes_sent / row.width / bytes.size});
      received_bytes.points.push_back({x, bin.bytes_received / row.width / bytes.size});
    }
    using tutti::detail::fixed_text;
    std::string words = row.role + ": % of time; " + fixed_text(total.resident / (1 << 20), 0) + " MiB resident";
    plot_panel::axes axes{.right = end / time.size, .low = 0, .high = 100, .x_labels = last ? time.name : nullptr};
    axes.y_labels = "";
    axes.x_ticks = x_ticks;
    panels.emplace_back(words, plot_panel::area{64, top, 310, 70}, axes);
    panels.back().add(std::move(waiting)).add(std::move(updating)).add(std::move(computing));
    words = std::string(bytes.name) + "/s; " + fixed_text(total.messages_sent, 0) + " messages out, " +
            fixed_text(total.messages_received, 0) + " in";
    axes.high = 1.1 * max_rate / bytes.size;
    panels.emplace_back(words, plot_panel::area{454, top, 310, 70}, axes);
    panels.back().add(std::move(sent_bytes)).add(std::move(received_bytes));
    for (auto const& fault : faults) {
      for (std::size_t k = panels.size() - 2; k != panels.size(); ++k) {
        panels[k].add({"", "#707070", panels[k].upright(fault.seconds / time.size), false, true});
      }
    }
    top += 112;
  }
  return panels;
}

}  // namespace tutti::nn::detail::report
