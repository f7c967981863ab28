// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/packing.hpp>
#include <tutti/types.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace tutti::detail {

[[nodiscard]] inline bool contains(std::vector<rank_type> const& ranks, rank_type one) noexcept {
  for (rank_type const r : ranks) {
    if (r == one) {
      return true;
    }
  }
  return false;
}

/// What a member says when it comes to a shrink meeting, and what the host says when it has decided.
struct shrink_message {
  static constexpr std::uint64_t version = 1;
  static constexpr std::uint64_t limit = 1U << 22U;  ///< bytes; longer ones are refused before they are read

  std::string world;               ///< which
  rank_type rank = no_rank;        ///< whose message it is
  std::vector<rank_type> members;  ///< who is in, as far as that one knows

  [[nodiscard]] std::string text() const {
    packer p;
    p.number(version).text(world).number(rank).number(members.size());
    for (rank_type const r : members) {
      p.number(r);
    }
    return p.take();
  }
  /// False: `bytes` are something else.
  [[nodiscard]] bool parse(std::string_view bytes) {
    unpacker u(bytes);
    bool const known = u.number() == version;
    world = u.text();
    rank = u.number_as<rank_type>();
    members.clear();
    for (std::uint64_t count = u.number(); u.good() && count > 0; --count) {
      members.push_back(u.number_as<rank_type>());
    }
    return u.done() && known;
  }
};

}  // namespace tutti::detail
