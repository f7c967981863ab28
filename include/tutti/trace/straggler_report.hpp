// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/number_text.hpp>
#include <tutti/trace/waits.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

namespace tutti::inline v0_1_0 {

/// Reports waits as text: one line per rank, and one that names the straggler, a rank or an in-network aggregator,
/// that delayed the others most.
/// @param names labels of the ranks, such as "worker 2"; by default "rank 2"
[[nodiscard]] inline std::string straggler_report(blame const& delays, std::span<std::string const> names = {}) {
  auto const seconds = [](duration d) { return detail::fixed_text(static_cast<double>(d.count()) * 1e-9, 3); };
  auto const padding = [](std::size_t width, std::string const& text) {
    return std::string(width - (std::min)(width, text.size()), ' ');
  };
  auto const right = [&](std::size_t width, std::string const& text) { return padding(width, text) + text; };
  auto const name = [&](rank_type r) {
    return r >= delays.ranks() ? std::string("the device") : r < names.size() ? names[r] : "rank " + std::to_string(r);
  };
  std::string report = "seconds waited for  ";
  for (rank_type r = 0; r != delays.size(); ++r) {
    report += right(11, name(r));
  }
  report += "  messages under way\n";
  rank_type worst = 0;
  for (rank_type waiter = 0; waiter != delays.ranks(); ++waiter) {
    report += "  by " + name(waiter) + padding(15, name(waiter));
    for (rank_type culprit = 0; culprit != delays.size(); ++culprit) {
      report += right(11, waiter == culprit ? "-" : seconds(delays.wait_time(waiter, culprit)));
    }
    report += right(20, seconds(delays.transit_time(waiter))) + "\n";
  }
  for (rank_type member = 0; member != delays.size(); ++member) {
    worst = delays.caused_time(member) > delays.caused_time(worst) ? member : worst;
  }
  if (delays.size() > 1) {
    report += name(worst) + " held up the others most: " + seconds(delays.caused_time(worst)) +
              " s in all, counting ranks that waited for one that waited for it\n";
  }
  return report;
}

}  // namespace tutti
