// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/deadline.hpp>
#include <tutti/rendezvous.hpp>
#include <tutti/time.hpp>
#include <tutti/types.hpp>

#include <string>
#include <vector>

namespace tutti::detail {

/// What a member has to know to find the others.
struct membership {
  rank_type rank = 0;
  rank_type size = 1;
  std::string job = {};   ///< keeps jobs apart that meet at one place by mistake; the same on all ranks
  std::string role = {};  ///< a label for this rank ("ps:0")
  duration patience = join_timeout;
};

[[nodiscard]] inline membership with_finite_patience(membership me) {
  me.patience = finite_patience(me.patience);
  return me;
}

/// "30 s", "0.25 s"
[[nodiscard]] inline std::string seconds_text(duration d) {
  std::string text = std::to_string(static_cast<double>(d.count()) * 1e-9);  // always six places
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') {
    text.pop_back();
  }
  return text + " s";
}

/// "rank 2", "ranks 2 and 5", "ranks 0, 1, 2 and 61 more"
[[nodiscard]] inline std::string list_ranks(std::vector<rank_type> const& ranks) {
  constexpr std::size_t most = 16;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  std::size_t const shown = ranks.size() <= most ? ranks.size() : most;
  for (std::size_t i = 0; i < shown; ++i) {
    text += i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return shown == ranks.size() ? text : text + " and " + std::to_string(ranks.size() - shown) + " more";
}

}  // namespace tutti::detail
