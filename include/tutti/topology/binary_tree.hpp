// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/topology/tree.hpp>

namespace tutti::inline v0_1_0 {

namespace detail {

/// A binary search tree over the ranks: left subtree < me < right subtree. Any rank can be the root, with a balanced
/// tree on either side. The smaller subtree is ready first, so it is folded first.
class in_order_tree {
 public:
  constexpr in_order_tree(rank_type n, rank_type root) noexcept : n_(n), root_(root) {}

  [[nodiscard]] static constexpr rank_type centre(rank_type n) noexcept { return n / 2; }
  [[nodiscard]] constexpr rank_type size() const noexcept { return n_; }
  [[nodiscard]] constexpr rank_type root() const noexcept { return root_; }
  [[nodiscard]] constexpr rank_type parent(rank_type me) const noexcept { return place(me).parent; }
  [[nodiscard]] constexpr std::uint32_t children(rank_type me) const noexcept {
    auto const p = place(me);
    return (p.first < me ? 1U : 0U) + (me + 1 < p.last ? 1U : 0U);
  }
  [[nodiscard]] constexpr rank_type child(rank_type me, std::uint32_t i) const noexcept {
    auto const p = place(me);
    const rank_type left = me - p.first;
    const rank_type right = p.last - me - 1;
    bool const has_both = left != 0 && right != 0;
    bool const go_left = has_both ? (i == 0) == (left < right) : left != 0;
    return go_left ? middle(p.first, me) : middle(me + 1, p.last);
  }
  [[nodiscard]] constexpr block_range subtree(rank_type me) const noexcept {
    auto const p = place(me);
    return {p.first, p.last - p.first};
  }

 private:
  [[nodiscard]] static constexpr rank_type middle(rank_type first, rank_type last) noexcept {
    return first + (last - first) / 2;
  }

  struct position {
    rank_type parent;
    rank_type first;
    rank_type last;
  };

  /// Bisects from the root down: one turn for each level, and no table.
  [[nodiscard]] constexpr position place(rank_type me) const noexcept {
    position p{no_rank, 0, n_};
    for (rank_type node = root_; node != me; node = middle(p.first, p.last)) {
      (me < node ? p.last : p.first) = me < node ? node : node + 1;
      p.parent = node;
    }
    return p;
  }

  rank_type n_;
  rank_type root_;
};

}  // namespace detail

/// A binary tree that keeps rank order.
///
/// With several segments both directions of every link are busy; with one segment each level costs two messages. It has
/// floor(log2 n) levels in allreduce, and at most ceil(log2 n) in a rooted operation.
///
/// Offers: allreduce, reduce, broadcast, gather, scatter.
/// Rank order: kept.
/// Cost: as one segment allreduce takes at most 4 floor(log2 n) rounds; a rank sends, and receives, 3 S at most.
/// Source: the in-order numbering of the trees of Sanders, Speck and Traff (see double_tree).
struct binary_tree : detail::on_tree<detail::in_order_tree> {
  /// The name of the topology in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = "binary_tree";
  /// True if every operation combines in rank order, as reductions that do not commute need.
  static constexpr bool keeps_rank_order = true;
  /// True if only `input` is ever sent to be folded, and no partial sums.
  static constexpr bool sends_raw_contributions = false;
};

}  // namespace tutti
