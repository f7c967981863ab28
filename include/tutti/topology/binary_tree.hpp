// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/topology/tree.hpp>

namespace tutti::inline v0_1_0 {

namespace detail {

/// Each rank stands between its two subtrees: left subtree < me < right subtree. The root may be any
/// rank: it has a balanced tree on either side. The smaller subtree is ready first and comes first.
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
    bool const both = left != 0 && right != 0;
    bool const go_left = both ? (i == 0) == (left < right) : left != 0;
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

  struct placed {
    rank_type parent;
    rank_type first;
    rank_type last;
  };

  /// Bisection from the root down: as many turns as the tree is deep, and no table.
  [[nodiscard]] constexpr placed place(rank_type me) const noexcept {
    placed p{no_rank, 0, n_};
    for (rank_type at = root_; at != me; at = middle(p.first, p.last)) {
      (me < at ? p.last : p.first) = me < at ? at : at + 1;
      p.parent = at;
    }
    return p;
  }

  rank_type n_;
  rank_type root_;
};

}  // namespace detail

/// A binary tree in which rank order is kept.
///
/// With segments both directions of every link are busy; with one segment it costs two messages a
/// level. Depth: floor(log2 n) levels where no root is named, at most ceil(log2 n) with any root.
///
/// Offers: allreduce, reduce, broadcast, gather, scatter.
/// Order: kept.
/// Cost: as one segment allreduce takes at most 4 floor(log2 n) rounds; a rank sends, and receives, 3 S at most.
/// Source: the numbering in order is that of the trees of Sanders, Speck and Traff (double_tree).
struct binary_tree : detail::on_tree<detail::in_order_tree> {
  /// The name of the topology in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = "binary_tree";
  /// True if reductions combine in rank order in every operation, as those that do not commute need.
  static constexpr bool keeps_order = true;
  /// True if only `input` is ever sent to be folded, and no partial sums.
  static constexpr bool sends_raw_contributions = false;
};

}  // namespace tutti
