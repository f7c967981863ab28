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
[[nodiscard]] inline std::string straggler_report(blame const& found, std::span<std::string const> names = {}) {
  auto const seconds = [](duration d) { return detail::fixed_text(static_cast<double>(d.count()) * 1e-9, 3); };
  auto const padding = [](std::size_t width, std::string const& text) {
    return std::string(width - (std::min)(width, text.size()), ' ');
  };
  auto const right = [&](std::size_t width, std::string const& text) { return padding(width, text) + text; };
  auto const name = [&](rank_type r) {
    return r >= found.ranks() ? std::string("the device") : r < names.size() ? names[r] : "rank " + std::to_string(r);
  };
  std::string out = "seconds waited for  ";
  for (rank_type r = 0; r != found.size(); ++r) {
    out += right(11, name(r));
  }
  out += "  messages under way\n";
  rank_type worst = 0;
  for (rank_type waiter = 0; waiter != found.ranks(); ++waiter) {
    out += "  by " + name(waiter) + padding(15, name(waiter));
    for (rank_type culprit = 0; culprit != found.size(); ++culprit) {
      out += right(11, waiter == culprit ? "-" : seconds(found.wait_time(waiter, culprit)));
    }
    out += right(20, seconds(found.transit_time(waiter))) + "\n";
  }
  for (rank_type member = 0; member != found.size(); ++member) {
    worst = found.caused_time(member) > found.caused_time(worst) ? member : worst;
  }
  if (found.size() > 1) {
    out += name(worst) + " held up the others most: " + seconds(found.caused_time(worst)) +
           " s in all, counting ranks that waited for one that waited for it\n";
  }
  return out;
}

}  // namespace tutti
