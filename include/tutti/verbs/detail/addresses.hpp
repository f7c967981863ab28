// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/verbs/detail/endpoint_info.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0::detail::verbs {

/// Endpoint information of all ranks, by rank.
struct addresses {
  std::vector<endpoint_info> endpoints;
  std::vector<std::string> sockets;

  /// @throws error(failure::join) that names a rank which cannot take part; every other rank fails with it
  [[nodiscard]] static addresses parse(std::vector<std::string> const& texts) {
    addresses infos;
    for (std::string const& text : texts) {
      std::size_t const end = (std::min)(text.find('\n'), text.size());
      infos.endpoints.push_back(endpoint_info::parse(text.substr(0, end)));
      infos.sockets.push_back(text.substr((std::min)(end + 1, text.size())));
      if (std::string const& refusal_reason = infos.endpoints.back().refusal_reason; !refusal_reason.empty()) {
        auto const r = static_cast<rank_type>(infos.endpoints.size() - 1);
        throw error(failure::join, message({"rank ", r, ": ", refusal_reason})).set_ranks(no_rank, {r});
      }
    }
    return infos;
  }
};

}  // namespace tutti::detail::verbs
