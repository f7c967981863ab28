// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/topology.hpp>

#include <bit>

namespace tutti::inline v0_1_0::detail::inline topology {

/// Makes any number of ranks a power of two: the largest power of two that n holds is the number of
/// groups, and the first n - groups of them have two members. These two are neighbours, so that
/// rank order survives; the even one leads, the odd one hands over to it and gets the result back.
///
/// (Rabenseifner and Traff, "More efficient reduction algorithms for non-power-of-two number of
/// processors", 2004, pair them so.)
class pairing {
 public:
  constexpr explicit pairing(rank_type n) noexcept
      : groups_(std::bit_floor(n)), pairs_(n - groups_), log_(static_cast<std::uint32_t>(std::countr_zero(groups_))) {}

  [[nodiscard]] constexpr rank_type groups() const noexcept { return groups_; }
  /// log2 of the number of groups.
  [[nodiscard]] constexpr std::uint32_t log() const noexcept { return log_; }
  [[nodiscard]] constexpr rank_type group(rank_type me) const noexcept {
    return me < 2 * pairs_ ? me / 2 : me - pairs_;
  }
  /// The leader of a group, and n for the one after the last.
  [[nodiscard]] constexpr rank_type leader(rank_type group) const noexcept {
    return group < pairs_ ? 2 * group : group + pairs_;
  }
  [[nodiscard]] constexpr bool paired(rank_type group) const noexcept { return group < pairs_; }
  /// Whether me has handed over to its neighbour.
  [[nodiscard]] constexpr bool follows(rank_type me) const noexcept { return me < 2 * pairs_ && me % 2 == 1; }

 private:
  rank_type groups_;
  rank_type pairs_;
  std::uint32_t log_;
};

/// The step before the exchanges among leaders: all of the follower's contribution goes to its leader.
[[nodiscard]] constexpr step hand_over(rank_type leader, block_range all, loan held) {
  return {.send = {leader, memory::input, all}, .loan = held};
}
[[nodiscard]] constexpr step take_over(rank_type follower, block_range all) {
  return {.receive = {follower, memory::work, all},
          .how = action::fold_right,
          .local = memory::input,
          .arrives = memory::input};
}

/// The step after them: all of the result goes back.
[[nodiscard]] constexpr step give_back(rank_type follower, block_range all) {
  return {.send = {follower, memory::output, all}, .loan = loan::given_back};
}
[[nodiscard]] constexpr step take_back(rank_type leader, block_range all) {
  return {.receive = {leader, memory::output, all}, .arrives = memory::output};
}

}  // namespace tutti::detail::topology
