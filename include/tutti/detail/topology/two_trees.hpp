// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/integer_cast.hpp>
#include <tutti/extend/types.hpp>

#include <bit>

namespace tutti::inline v0_1_0::detail::inline topology {

/// Two binary trees over the same ranks, such that a rank that has children in one is a leaf of the other.
///
/// Of m ranks, K = floor(m / 2) have children in tree 0 and as many in tree 1. Each tree is a heap: the
/// parent of place s is place (s - 1) / 2, places below K have children, and the others are leaves. The
/// rank that is inner number k of one tree is leaf number k of the other. Where m is odd, one rank is a
/// leaf of both: it takes the place that is left.
///
/// The edge above place s has colour s mod 2 in tree 0, and the other one in tree 1. Leaves start at an
/// even place. So the two edges by which a rank receives from its children differ in colour, and so do
/// the two by which it sends to its parents: all edges of one colour can be busy at once.
///
/// An operation's root, if it has one, is in neither tree, but above both.
class two_trees {
 public:
  /// @pre root < n, or no_rank for trees over all n ranks
  constexpr two_trees(rank_type n, rank_type root) noexcept
      : n_(n), root_(root), inner_((root == no_rank ? n : n - 1) / 2), odd_((root == no_rank ? n : n - 1) % 2 == 1) {}

  /// The end of an edge in tree `tree`: above place `place`. One end is the rank there, the other its parent.
  struct edge_above {
    std::uint32_t tree;
    std::uint32_t place;
  };

  [[nodiscard]] constexpr rank_type root() const noexcept { return root_; }
  /// The place of a rank that is not the root.
  [[nodiscard]] constexpr std::uint32_t place(std::uint32_t tree, rank_type me) const noexcept {
    const std::uint32_t p = position(me);
    return p == 2 * inner_ ? left_over() : p % 2 == tree ? p / 2 : first_leaf() + p / 2;
  }
  [[nodiscard]] constexpr bool is_leaf(std::uint32_t place) const noexcept { return place >= inner_; }
  /// The rank there; no_rank if there is none.
  [[nodiscard]] constexpr rank_type at(edge_above e) const noexcept {
    if (e.place < inner_) {
      return rank(2 * e.place + e.tree);
    }
    if (e.place == left_over()) {
      return odd_ ? rank(2 * inner_) : no_rank;
    }
    return e.place > 2 * inner_ ? no_rank : rank(2 * (e.place - first_leaf()) + 1 - e.tree);
  }
  /// The rank above; no_rank if there is none.
  [[nodiscard]] constexpr rank_type parent(edge_above e) const noexcept {
    return e.place == 0 ? root_ : at({e.tree, (e.place - 1) / 2});
  }

  /// When the edge passes its message on the way up, if leaves start at 0 and all edges of one colour are
  /// busy at once: after those below it. Backwards, it is the time on the way down.
  [[nodiscard]] constexpr std::uint32_t time(edge_above e) const noexcept {
    const std::uint32_t colour = (e.place + e.tree) % 2;
    return is_leaf(e.place) ? colour : 2 * (depth(2 * inner_) - depth(e.place)) + colour;
  }
  /// Whether the parent takes this edge's message before its other child's, or after it.
  [[nodiscard]] constexpr bool is_first(edge_above e) const noexcept {
    return at(sibling(e)) == no_rank || time(e) < time(sibling(e));
  }
  [[nodiscard]] constexpr bool is_last(edge_above e) const noexcept {
    return at(sibling(e)) == no_rank || time(e) > time(sibling(e));
  }

 private:
  /// The other edge below the same parent; above the root of the tree, a place that holds no rank.
  [[nodiscard]] static constexpr edge_above sibling(edge_above e) noexcept {
    return {e.tree, e.place == 0 ? UINT32_MAX : e.place % 2 == 1 ? e.place + 1 : e.place - 1};
  }
  [[nodiscard]] static constexpr std::uint32_t depth(std::uint32_t place) noexcept {
    return integer_cast<std::uint32_t>(std::bit_width(place + 1));
  }
  /// Leaves fill K of the K + 1 places K, ..., 2 K, from the first even one on.
  [[nodiscard]] constexpr std::uint32_t first_leaf() const noexcept { return inner_ + inner_ % 2; }
  [[nodiscard]] constexpr std::uint32_t left_over() const noexcept { return inner_ % 2 == 1 ? inner_ : 2 * inner_; }

  // Ranks are counted from the one after the root.
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
