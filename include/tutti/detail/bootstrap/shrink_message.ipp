// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/shrink_message.hpp>
#include <tutti/detail/net/proof.hpp>
#include <tutti/extend/packing.hpp>

#include <algorithm>
#include <functional>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

TUTTI_DECL bool proposal::counts(rank_type rank) const noexcept {
  return std::binary_search(members.begin(), members.end(), rank);
}

/// Reads a number of a small type; `is_wrong` becomes true if it is larger than `last`.
template <class Enum>
[[nodiscard]] Enum read_enum(unpacker& u, Enum last, bool& is_wrong) {
  auto const value = u.number_as<std::uint8_t>();
  is_wrong = is_wrong || value > static_cast<std::uint8_t>(last);
  return is_wrong ? Enum{} : static_cast<Enum>(value);
}

TUTTI_DECL std::string shrink_message::text() const {
  packer p;
  p.number(version).text(world).number(rank).number(static_cast<std::uint8_t>(kind)).number(round);
  p.number(number.count).number(number.host).number(static_cast<std::uint8_t>(call)).number(value);
  p.number(content.round).number(content.number.count).number(content.number.host);
  p.number(static_cast<std::uint8_t>(content.call)).number(content.value).number(content.members.size());
  for (rank_type const r : content.members) {
    p.number(r);
  }
  return p.take();
}

TUTTI_DECL std::size_t shrink_message::longest(std::size_t ranks) const {
  return text().size() + 8 * ranks + sizeof(net::proof);
}

TUTTI_DECL bool shrink_message::parse(std::string_view bytes) {
  unpacker u(bytes);
  bool is_wrong = u.number() != version;
  world = u.text();
  rank = u.number_as<rank_type>();
  kind = read_enum(u, step::notice, is_wrong);
  round = u.number();
  number.count = u.number();
  number.host = u.number_as<rank_type>();
  call = read_enum(u, detector_call::grow, is_wrong);
  value = u.number();
  content.round = u.number();
  content.number.count = u.number();
  content.number.host = u.number_as<rank_type>();
  content.call = read_enum(u, detector_call::grow, is_wrong);
  content.value = u.number();
  content.members.clear();
  for (std::uint64_t count = u.number(); u.good() && count > 0; --count) {
    content.members.push_back(u.number_as<rank_type>());
  }
  auto const& list = content.members;
  bool const ascends = std::adjacent_find(list.begin(), list.end(), std::greater_equal()) == list.end();
  return u.is_complete() && !is_wrong && ascends;
}

}  // namespace tutti::detail::bootstrap
