// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/trace/waits.hpp>

#include <cstdio>
#include <span>
#include <string>

namespace tutti::inline v0_1_0 {

/// Which rank waited for which, as text: a line per rank, and one that names the rank, or the device in the network,
/// that held up the others most.
/// @param names of the ranks, such as "worker 2", if they have others than "rank 2"
[[nodiscard]] inline std::string straggler_report(blame const& found, std::span<std::string const> names = {}) {
  auto const seconds = [](duration d) { return static_cast<double>(d.count()) * 1e-9; };
  auto const cell = [](char const* format, auto value) {
    char text[128];
    std::snprintf(text, sizeof(text), format, value);
    return std::string(text);
  };
  auto const name = [&](rank_type r) {
    return r >= found.ranks() ? std::string("the device") : r < names.size() ? names[r] : "rank " + std::to_string(r);
  };
  std::string out = "seconds waited for  ";
  for (rank_type r = 0; r != found.size(); ++r) {
    out += cell("%11s", name(r).c_str());
  }
  out += "  messages under way\n";
  rank_type worst = 0;
  for (rank_type waiter = 0; waiter != found.ranks(); ++waiter) {
    out += cell("  by %-15s", name(waiter).c_str());
    for (rank_type culprit = 0; culprit != found.size(); ++culprit) {
      out += waiter == culprit ? std::string("          -") : cell("%11.3f", seconds(found.of(waiter, culprit)));
    }
    out += cell("%20.3f\n", seconds(found.under_way(waiter)));
  }
  for (rank_type member = 0; member != found.size(); ++member) {
    worst = found.by(member) > found.by(worst) ? member : worst;
  }
  if (found.size() > 1) {
    out += name(worst) + " held up the others most: ";
    out += cell("%.3f s in all, counting ranks that waited for one that waited for it\n", seconds(found.by(worst)));
  }
  return out;
}

}  // namespace tutti
