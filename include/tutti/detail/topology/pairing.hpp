// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/topology.hpp>

#include <bit>

namespace tutti::inline v0_1_0::detail::inline topology {

/// Groups any number n of ranks so that the number of groups is a power of two, the largest that is at most n. The
/// first n - groups groups have two members, the others one. The two members are neighbours, which keeps rank order.
/// The even one leads; the odd one, the follower, sends its contribution to the leader and gets the result back.
///
/// Source: Rabenseifner and Traff, "More efficient reduction algorithms for non-power-of-two number of processors",
/// 2004.
class pairing {
 public:
  constexpr explicit pairing(rank_type n) noexcept
      : groups_(std::bit_floor(n)), pairs_(n - groups_), log_(static_cast<std::uint32_t>(std::countr_zero(groups_))) {}

  [[nodiscard]] constexpr rank_type groups() const noexcept { return groups_; }
  /// The logarithm of the number of groups, base 2.
  [[nodiscard]] constexpr std::uint32_t log() const noexcept { return log_; }
  [[nodiscard]] constexpr rank_type group(rank_type me) const noexcept {
    return me < 2 * pairs_ ? me / 2 : me - pairs_;
  }
  /// The leader of a group. For group `groups()`, one past the last, it is n.
  [[nodiscard]] constexpr rank_type leader(rank_type group) const noexcept {
    return group < pairs_ ? 2 * group : group + pairs_;
  }
  [[nodiscard]] constexpr bool is_pair(rank_type group) const noexcept { return group < pairs_; }
  /// True if me is a follower.
  [[nodiscard]] constexpr bool follows(rank_type me) const noexcept { return me < 2 * pairs_ && me % 2 == 1; }

 private:
  rank_type groups_;
  rank_type pairs_;
  std::uint32_t log_;
};

/// The steps before the exchanges among leaders: the follower sends its whole contribution, and the leader folds it.
[[nodiscard]] constexpr step hand_over(rank_type leader, block_range whole, loan terms) {
  return {.send = {leader, memory::input, whole}, .loan = terms};
}
[[nodiscard]] constexpr step take_over(rank_type follower, block_range whole) {
  return {.receive = {follower, memory::work, whole},
          .action = action::fold_right,
          .local_memory = memory::input,
          .sender_memory = memory::input};
}

/// The steps after the exchanges among leaders: the leader sends the whole result, and the follower stores it.
[[nodiscard]] constexpr step give_back(rank_type follower, block_range whole) {
  return {.send = {follower, memory::output, whole}, .loan = loan::give_back};
}
[[nodiscard]] constexpr step take_back(rank_type leader, block_range whole) {
  return {.receive = {leader, memory::output, whole}, .sender_memory = memory::output};
}

}  // namespace tutti::detail::topology
