// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/shrink_message.hpp>
#include <tutti/detail/net/proof.hpp>
#include <tutti/extend/packing.hpp>

#include <algorithm>
#include <functional>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

TUTTI_DECL std::string shrink_message::text() const {
  packer p;
  p.number(version).text(world).number(rank).number(members.size());
  for (rank_type const r : members) {
    p.number(r);
  }
  return p.take();
}

TUTTI_DECL std::size_t shrink_message::longest(std::size_t ranks) const {
  return text().size() + 8 * ranks + sizeof(net::proof);
}

TUTTI_DECL bool shrink_message::parse(std::string_view bytes) {
  unpacker u(bytes);
  bool const has_version = u.number() == version;
  world = u.text();
  rank = u.number_as<rank_type>();
  members.clear();
  for (std::uint64_t count = u.number(); u.good() && count > 0; --count) {
    members.push_back(u.number_as<rank_type>());
  }
  bool const ascends = std::adjacent_find(members.begin(), members.end(), std::greater_equal()) == members.end();
  return u.is_complete() && has_version && ascends;
}

TUTTI_DECL bool shrink_message::counts(rank_type member_rank) const noexcept {
  return std::find(members.begin(), members.end(), member_rank) != members.end();
}

TUTTI_DECL bool shrink_message::leaves_out(shrink_message const& other) const noexcept {
  return world == other.world && !counts(other.rank);
}

}  // namespace tutti::detail::bootstrap
