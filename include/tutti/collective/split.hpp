// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/allgather.hpp>
#include <tutti/collective/group_rendezvous.hpp>
#include <tutti/topology/doubling.hpp>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0 {

/// The colour of ranks that join no part.
inline constexpr std::uint32_t no_part = UINT32_MAX;

namespace detail {

/// The arguments of a rank to a split.
struct split_wish {
  static constexpr std::string_view element_name = "split wish";

  std::int64_t key;
  std::uint32_t colour;
  rank_type rank;
};

/// The rendezvous of the members of one colour, ordered by key, then by rank in the parent.
template <group Communicator>
[[nodiscard]] group_rendezvous<Communicator> choose_sides(Communicator& parent, std::uint32_t colour,
                                                          std::int64_t key) {
  std::vector<split_wish> wishes(parent.size());
  split_wish const wish{key, colour, parent.rank()};
  std::string name = parent.name() + "/" + std::to_string(detail::access::state(parent).flows.operations()) + ":" +
                     std::to_string(colour);
  allgather{parent, doubling{}}(std::span(&wish, 1), wishes);
  std::erase_if(wishes, [&](split_wish const& candidate) { return candidate.colour != colour; });
  std::qsort(wishes.data(), wishes.size(), sizeof(split_wish), [](void const* left, void const* right) {
    split_wish const& a = *static_cast<split_wish const*>(left);
    split_wish const& b = *static_cast<split_wish const*>(right);
    bool const is_before = a.key != b.key ? a.key < b.key : a.rank < b.rank;
    return is_before ? -1 : 1;
  });
  std::vector<rank_type> members;
  rank_type rank = 0;
  for (split_wish const& candidate : wishes) {
    if (candidate.rank == parent.rank()) {
      rank = static_cast<rank_type>(members.size());
    }
    members.push_back(candidate.rank);
  }
  return {parent, std::move(members), rank, std::move(name)};
}

}  // namespace detail

/// Splits a communicator by colour: the ranks of one colour form a communicator, ordered by key. It has its own
/// transport, so neither it nor the parent delays the other, and a fault of one is not a fault of the other. With
/// shared memory, it uses part of the parent's segment, and no further address space.
///
///     auto row = tutti::split(world, world.rank() / columns, world.rank());
///     row.parent_rank(0);  // the rank in the world of the first rank of the row
///
/// A rank that joins no part passes `no_part`, and gets an empty communicator:
///
///     auto workers = tutti::split(world, world.rank() < 4 ? 0 : tutti::no_part);
///     if (workers) { ... }
///
/// Collective over the parent: each rank passes its colour and its key, a number; equal keys are ordered by rank.
///
/// @pre every rank of the parent calls it at the same point in its sequence of operations
/// @throws error like all operations; failure::join if the transport cannot be opened. That error has ranks of the
/// parent, because no part exists.
///
/// Cost: an allgather of 16 bytes per rank, by `doubling`, and opening the transport.
/// Thread safety: as the parent.
template <class Transport, rank_type N, class Trace>
[[nodiscard]] communicator<Transport, dynamic, Trace> split(communicator<Transport, N, Trace>& parent,
                                                            std::uint32_t colour, std::int64_t key = 0) {
  auto meet = detail::choose_sides(parent, colour, key);
  if (colour == no_part) {
    return {};
  }
  return communicator<Transport, dynamic, Trace>(meet, parent.settings());
}

namespace detail {

template <class Parent, class... More>
concept splits = group<std::remove_reference_t<Parent>> && std::is_lvalue_reference_v<Parent> &&
                 (std::convertible_to<More, std::int64_t> && ...) && (sizeof...(More) == 1 || sizeof...(More) == 2);

}  // namespace detail

/// Refuses other arguments with a message.
template <class Parent, class... More>
  requires is_communicator<std::remove_cvref_t<Parent>> && (!detail::splits<Parent, More...>)
auto split(Parent&&, More&&...) {
  static_assert(
      detail::splits<Parent, More...>,
      "split takes (world, colour) or (world, colour, key): a communicator, a variable that is not const, and "
      "numbers; ranks of one colour are a part, and tutti::no_part is the colour of those in none");
}

}  // namespace tutti
