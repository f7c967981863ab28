// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/integer_cast.hpp>
#include <tutti/extend/types.hpp>

#include <bit>

namespace tutti::inline v0_1_0::detail::inline topology {

/// Two binary trees over the same ranks, such that a rank that has children in one is a leaf of the other.
///
/// K = floor(m / 2) of the m ranks have children in tree 0, and K others in tree 1. Each tree is a heap: the parent of
/// place s is place (s - 1) / 2, places below K have children, and the others are leaves. Inner node k of one tree and
/// leaf k of the other are one rank. If m is odd, one rank is a leaf of both trees, in the place that remains.
///
/// The edge above place s has colour s mod 2 in tree 0, and the opposite colour in tree 1. Leaves start at an even
/// place. So the two edges from the children of a rank differ in colour, and so do the two edges to its parents: all
/// edges of one colour can be busy at once.
///
/// The root of an operation, if it has one, is above both trees and in neither.
class two_trees {
 public:
  /// @pre root < n, or no_rank for trees over all n ranks
  constexpr two_trees(rank_type n, rank_type root) noexcept
      : n_(n), root_(root), inner_((root == no_rank ? n : n - 1) / 2), odd_((root == no_rank ? n : n - 1) % 2 == 1) {}

  /// The edge of tree `tree` between place `place` and its parent.
  struct edge_above {
    std::uint32_t tree;
    std::uint32_t place;
  };

  [[nodiscard]] constexpr rank_type root() const noexcept { return root_; }
  /// The place of a rank in a tree. @pre it is not the root
  [[nodiscard]] constexpr std::uint32_t place(std::uint32_t tree, rank_type me) const noexcept {
    const std::uint32_t p = position(me);
    return p == 2 * inner_ ? unpaired_place() : p % 2 == tree ? p / 2 : first_leaf() + p / 2;
  }
  [[nodiscard]] constexpr bool is_leaf(std::uint32_t place) const noexcept { return place >= inner_; }
  /// The rank at the lower end of an edge, or no_rank.
  [[nodiscard]] constexpr rank_type at(edge_above e) const noexcept {
    if (e.place < inner_) {
      return rank(2 * e.place + e.tree);
    }
    if (e.place == unpaired_place()) {
      return odd_ ? rank(2 * inner_) : no_rank;
    }
    return e.place > 2 * inner_ ? no_rank : rank(2 * (e.place - first_leaf()) + 1 - e.tree);
  }
  /// The rank at the upper end of an edge, or no_rank.
  [[nodiscard]] constexpr rank_type parent(edge_above e) const noexcept {
    return e.place == 0 ? root_ : at({e.tree, (e.place - 1) / 2});
  }

  /// The round in which the edge carries its message on the way up: leaves start at 0, edges of one colour are busy at
  /// once, and an edge follows the edges below it. On the way down the rounds are reversed.
  [[nodiscard]] constexpr std::uint32_t time(edge_above e) const noexcept {
    const std::uint32_t colour = (e.place + e.tree) % 2;
    return is_leaf(e.place) ? colour : 2 * (depth(2 * inner_) - depth(e.place)) + colour;
  }
  /// True if the parent folds this child before its other child. `is_last`: after it.
  [[nodiscard]] constexpr bool is_first(edge_above e) const noexcept {
    return at(sibling(e)) == no_rank || time(e) < time(sibling(e));
  }
  [[nodiscard]] constexpr bool is_last(edge_above e) const noexcept {
    return at(sibling(e)) == no_rank || time(e) > time(sibling(e));
  }

 private:
  /// The other edge below the same parent. For the edge above the root of the tree: an edge without ranks.
  [[nodiscard]] static constexpr edge_above sibling(edge_above e) noexcept {
    return {e.tree, e.place == 0 ? UINT32_MAX : e.place % 2 == 1 ? e.place + 1 : e.place - 1};
  }
  [[nodiscard]] static constexpr std::uint32_t depth(std::uint32_t place) noexcept {
    return integer_cast<std::uint32_t>(std::bit_width(place + 1));
  }
  /// The place of the first leaf. Leaves fill K of the K + 1 places K, ..., 2 K, from the first even one on.
  [[nodiscard]] constexpr std::uint32_t first_leaf() const noexcept { return inner_ + inner_ % 2; }
  [[nodiscard]] constexpr std::uint32_t unpaired_place() const noexcept {
    return inner_ % 2 == 1 ? inner_ : 2 * inner_;
  }

  // Positions count the ranks from the rank after the root on.
  [[nodiscard]] constexpr rank_type first() const noexcept { return root_ == no_rank ? 0 : root_ + 1; }
  [[nodiscard]] constexpr std::uint32_t position(rank_type me) const noexcept {
    return me >= first() ? me - first() : me + n_ - first();
  }
  [[nodiscard]] constexpr rank_type rank(std::uint32_t position) const noexcept {
    return position < n_ - first() ? first() + position : first() + position - n_;
  }

  rank_type n_;
  rank_type root_;
  std::uint32_t inner_;
  bool odd_;
};

}  // namespace tutti::detail::topology
