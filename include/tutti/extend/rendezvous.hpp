// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>
#include <tutti/extend/types.hpp>

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0 {

/// The time that the members of a world wait for each other, unless set.
inline constexpr duration join_timeout = std::chrono::seconds(60);

/// The exchange by which the members of a world find each other before they can communicate.
///
/// `exchange` is collective: every member passes a text, and receives the texts of all in rank order. It may be called
/// several times. After the deadline it throws tutti::error (failure::join) with the missing ranks.
template <class M>
concept rendezvous = requires(M& m, M const& c, std::string_view text) {
  { c.rank() } -> std::same_as<rank_type>;
  { c.size() } -> std::same_as<rank_type>;
  { m.exchange(text) } -> std::same_as<std::vector<std::string>>;
};

/// A rendezvous whose members are all on one host.
template <class M>
concept on_one_host = rendezvous<M> && M::one_host;

/// A rendezvous that provides the address by which other members reach this host, as a transport between hosts needs:
/// all are on one host, or `local_host` has determined it.
template <class M>
concept locates_hosts = on_one_host<M> || (rendezvous<M> && requires(M const& m) {
                          { m.local_host() } -> std::convertible_to<std::string>;
                        });

/// A rendezvous of some members of a larger world. A transport made from it that is `names_world_ranks` names ranks in
/// faults and errors by their numbers in that world.
template <class M>
concept part_of_world = rendezvous<M> && requires(M const& m, rank_type r) {
  { m.world_rank(r) } -> std::same_as<rank_type>;
};

namespace detail {

/// The number of rank r of a rendezvous in its world.
template <rendezvous M>
[[nodiscard]] rank_type world_rank(M const& meet, rank_type r) {
  if constexpr (part_of_world<M>) {
    return meet.world_rank(r);
  } else {
    return r;
  }
}

/// The number of rank r of a rendezvous in the text of an error.
template <rendezvous M>
[[nodiscard]] rank_type reported_rank(M const& meet, rank_type r) {
  if constexpr (requires { meet.reported_rank(r); }) {
    return meet.reported_rank(r);
  } else {
    return world_rank(meet, r);
  }
}

}  // namespace detail

}  // namespace tutti
