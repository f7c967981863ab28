// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/topology/tree.hpp>

namespace tutti::inline v0_1_0::detail::inline topology {

/// The binomial tree, for any root and any n, in rank order.
///
/// At level k the ranks form aligned groups of 2^k: 0..2^k-1, 2^k..2*2^k-1, and so on; the last group ends at n. The
/// leader of a group is the member whose lower k bits are those of the root, or the nearest below. In each round two
/// neighbouring groups of 2^k become one of 2^(k+1): one leader sends to the other. Subtrees are intervals of ranks,
/// which the subtrees of the usual tree over (rank - root) mod n are not.
class binomial_tree {
 public:
  constexpr binomial_tree(rank_type n, rank_type root) noexcept : n_(n), root_(root) {}

  [[nodiscard]] static constexpr rank_type centre(rank_type) noexcept { return 0; }
  [[nodiscard]] constexpr rank_type size() const noexcept { return n_; }
  [[nodiscard]] constexpr rank_type root() const noexcept { return root_; }

  [[nodiscard]] constexpr rank_type parent(rank_type me) const noexcept {
    const std::uint32_t k = level(me);
    return leader(group(me, k + 1), k + 1);
  }
  [[nodiscard]] constexpr std::uint32_t children(rank_type me) const noexcept {
    std::uint32_t count = 0;
    for (std::uint32_t k = 0; k < level(me); ++k) {
      count += sibling(me, k) < n_ ? 1U : 0U;
    }
    return count;
  }
  [[nodiscard]] constexpr rank_type child(rank_type me, std::uint32_t i) const noexcept {
    std::uint32_t k = 0;
    while (sibling(me, k) >= n_ || i-- != 0) {
      ++k;
    }
    return leader(sibling(me, k), k);
  }
  [[nodiscard]] constexpr block_range subtree(rank_type me) const noexcept {
    const rank_type first = group(me, level(me));
    const rank_type size = rank_type{1} << level(me);
    return {first, size < n_ - first ? size : n_ - first};
  }

 private:
  /// The first rank of the group of 2^k that `me` is in. `sibling` is the first rank of the group that it merges with.
  [[nodiscard]] static constexpr rank_type group(rank_type me, std::uint32_t k) noexcept { return me >> k << k; }
  [[nodiscard]] static constexpr rank_type sibling(rank_type me, std::uint32_t k) noexcept {
    return group(me, k) ^ (rank_type{1} << k);
  }

  [[nodiscard]] constexpr rank_type leader(rank_type first, std::uint32_t k) const noexcept {
    while (k-- > 0) {
      const rank_type bit = root_ & (rank_type{1} << k);
      first += bit < n_ - first ? bit : 0;
    }
    return first;
  }

  /// The largest k such that `me` leads its group of 2^k.
  [[nodiscard]] constexpr std::uint32_t level(rank_type me) const noexcept {
    std::uint32_t k = 0;
    while ((rank_type{1} << k) < n_ && leader(group(me, k + 1), k + 1) == me) {
      ++k;
    }
    return k;
  }

  rank_type n_;
  rank_type root_;
};

}  // namespace tutti::detail::topology
