// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/topology/prefix.hpp>
#include <tutti/detail/topology/tree.hpp>

namespace tutti::inline v0_1_0 {

namespace detail {

/// The line 0 - 1 - ... - n-1 as a tree: one arm on either side of the root. The root folds the shorter arm first.
class line_tree {
 public:
  constexpr line_tree(rank_type n, rank_type root) noexcept : n_(n), root_(root) {}

  [[nodiscard]] static constexpr rank_type centre(rank_type n) noexcept { return n / 2; }
  [[nodiscard]] constexpr rank_type size() const noexcept { return n_; }
  [[nodiscard]] constexpr rank_type root() const noexcept { return root_; }
  [[nodiscard]] constexpr rank_type parent(rank_type me) const noexcept { return me < root_ ? me + 1 : me - 1; }
  [[nodiscard]] constexpr std::uint32_t children(rank_type me) const noexcept {
    return (has_lower(me) ? 1U : 0U) + (has_upper(me) ? 1U : 0U);
  }
  [[nodiscard]] constexpr rank_type child(rank_type me, std::uint32_t i) const noexcept {
    bool const has_both = has_lower(me) && has_upper(me);
    bool const shorter_below = me < n_ - 1 - me;
    return has_both ? ((i == 0) == shorter_below ? me - 1 : me + 1) : has_lower(me) ? me - 1 : me + 1;
  }
  [[nodiscard]] constexpr block_range subtree(rank_type me) const noexcept {
    return me < root_ ? block_range{0, me + 1} : me > root_ ? block_range{me, n_ - me} : block_range{0, n_};
  }

 private:
  [[nodiscard]] constexpr bool has_lower(rank_type me) const noexcept { return me <= root_ && me > 0; }
  [[nodiscard]] constexpr bool has_upper(rank_type me) const noexcept { return me >= root_ && me + 1 < n_; }

  rank_type n_;
  rank_type root_;
};

/// Prefixes along the line: each rank adds its contribution to the prefix of the rank before it.
struct line_prefixes {
  [[nodiscard]] static constexpr std::uint32_t steps(rank_type n, rank_type me) {
    return me + 1 == n ? 1 : me == 0 ? 2 : 3;
  }
  [[nodiscard]] static constexpr step at(rank_type n, rank_type me, std::uint32_t i, memory origin) {
    constexpr block_range whole{0, 1};
    const memory prefix = me == 0 ? origin : memory::work;
    if (me != 0 && i == 0) {
      return {.receive = {me - 1, me + 1 == n ? memory::output : memory::work, whole},
              .action = action::fold_left,
              .local_memory = origin,
              .sender_memory = me == 1 ? origin : memory::work};
    }
    if (i + 1 < steps(n, me)) {
      return {.send = {me + 1, prefix, whole}};
    }
    return copy_own_block(0, prefix);
  }
};

}  // namespace detail

/// A line: each rank talks to its two neighbours. It has the fewest links and the most hops. Long vectors, cut into
/// segments, stream through it at the full rate of a link.
///
/// Allreduce has its root in the middle: the busiest rank moves as many bytes as with the root at one end, and a
/// message takes half as many hops.
///
/// Offers: allreduce, reduce, broadcast, gather, scatter, scan, exscan.
/// Rank order: kept.
/// Cost: as one segment reduce and broadcast take max(root, n - 1 - root) hops of L + S G, allreduce 2 floor(n / 2),
/// scan and exscan n - 1; gather and scatter move one block a message, so that hops overlap.
/// Source: no paper; a pipeline along a line.
struct chain : detail::on_tree<detail::line_tree>, detail::on_prefixes<detail::line_prefixes> {
  /// The name of the topology in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = "chain";
  /// True if every operation combines in rank order, as reductions that do not commute need.
  static constexpr bool keeps_rank_order = true;
  /// True if only `input` is ever sent to be folded, and no partial sums.
  static constexpr bool sends_raw_contributions = false;

  using on_tree<detail::line_tree>::blocks;
  using on_tree<detail::line_tree>::steps;
  using on_tree<detail::line_tree>::at;
  using on_prefixes<detail::line_prefixes>::blocks;
  using on_prefixes<detail::line_prefixes>::steps;
  using on_prefixes<detail::line_prefixes>::at;

  // Gather: a rank sends its own block, then the blocks of the ranks further from the root, nearest first.
  /// The number of steps of rank me.
  [[nodiscard]] constexpr std::uint32_t steps(op::gather o, rank_type n, rank_type me) const {
    return me == o.root ? n : detail::line_tree(n, o.root).subtree(me).count;
  }
  /// Step i of rank me, of n ranks, in closed form.
  [[nodiscard]] constexpr step at(op::gather o, rank_type n, rank_type me, std::uint32_t i) const {
    if (me == o.root) {
      if (i == 0) {
        return detail::copy_own_block(me);
      }
      const rank_type block = i <= me ? me - i : i;
      return {.receive = {i <= me ? me - 1 : me + 1, memory::output, {block, 1}},
              .sender_memory = i == 1 || i == me + 1 ? memory::input : memory::work};
    }
    const detail::line_tree line(n, o.root);
    const rank_type block = descendant(o.root, me, i);
    step s{.send = {line.parent(me), i == 0 ? memory::input : memory::work, {block, 1}}};
    if (i + 1 < line.subtree(me).count) {
      s.receive = {line.child(me, 0), memory::work, {descendant(o.root, me, i + 1), 1}};
      s.sender_memory = i == 0 ? memory::input : memory::work;
    }
    return s;
  }

  // Scatter: gather in reverse; the block that goes furthest is sent first.
  /// The number of steps of rank me.
  [[nodiscard]] constexpr std::uint32_t steps(op::scatter o, rank_type n, rank_type me) const {
    return me == o.root ? n : detail::line_tree(n, o.root).subtree(me).count;
  }
  /// Step i of rank me, of n ranks, in closed form.
  [[nodiscard]] constexpr step at(op::scatter o, rank_type n, rank_type me, std::uint32_t i) const {
    if (me == o.root) {
      if (i + 1 == n) {
        return detail::copy_own_block(me);
      }
      return i < me ? step{.send = {me - 1, memory::input, {i, 1}}}
                    : step{.send = {me + 1, memory::input, {n - 1 - (i - me), 1}}};
    }
    const detail::line_tree line(n, o.root);
    const rank_type parent = line.parent(me);
    const std::uint32_t descendants = line.subtree(me).count - 1;
    step s{.receive = {parent,
                       i == descendants ? memory::output : memory::work,
                       {descendant(o.root, me, descendants - i), 1}},
           .sender_memory = parent == o.root ? memory::input : memory::work};
    if (i > 0) {
      s.send = {line.child(me, 0), memory::work, {descendant(o.root, me, descendants - i + 1), 1}};
    }
    return s;
  }

 private:
  /// The rank that is k places further from the root.
  [[nodiscard]] static constexpr rank_type descendant(rank_type root, rank_type me, rank_type k) {
    return me < root ? me - k : me + k;
  }
};

}  // namespace tutti
