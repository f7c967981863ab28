// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/verbs/detail/card.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0::detail::verbs {

/// What all ranks have said about themselves, by rank.
struct addresses {
  std::vector<card> cards;
  std::vector<std::string> sockets;

  /// @throws error(failure::join) that names a rank which cannot take part: it fails all others, too
  [[nodiscard]] static addresses parse(std::vector<std::string> const& texts) {
    addresses all;
    for (std::string const& text : texts) {
      std::size_t const end = (std::min)(text.find('\n'), text.size());
      all.cards.push_back(card::parse(text.substr(0, end)));
      all.sockets.push_back(text.substr((std::min)(end + 1, text.size())));
      if (std::string const& trouble = all.cards.back().trouble; !trouble.empty()) {
        auto const r = static_cast<rank_type>(all.cards.size() - 1);
        throw error(failure::join, message({"rank ", r, ": ", trouble})).between(no_rank, {r});
      }
    }
    return all;
  }
};

}  // namespace tutti::detail::verbs
