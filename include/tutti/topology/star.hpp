// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/topology/tree.hpp>

namespace tutti::inline v0_1_0 {

namespace detail {

/// A tree in which all other ranks are children of the root. The root folds the ranks below it first, nearest first,
/// then the ranks above it.
class star_tree {
 public:
  constexpr star_tree(rank_type n, rank_type root) noexcept : n_(n), root_(root) {}

  [[nodiscard]] static constexpr rank_type centre(rank_type) noexcept { return 0; }
  [[nodiscard]] constexpr rank_type size() const noexcept { return n_; }
  [[nodiscard]] constexpr rank_type root() const noexcept { return root_; }
  [[nodiscard]] constexpr rank_type parent(rank_type) const noexcept { return root_; }
  [[nodiscard]] constexpr std::uint32_t children(rank_type me) const noexcept { return me == root_ ? n_ - 1 : 0; }
  [[nodiscard]] constexpr rank_type child(rank_type, std::uint32_t i) const noexcept {
    return i < root_ ? root_ - 1 - i : i + 1;
  }
  [[nodiscard]] constexpr block_range subtree(rank_type me) const noexcept {
    return me == root_ ? block_range{0, n_} : block_range{me, 1};
  }

 private:
  rank_type n_;
  rank_type root_;
};

}  // namespace detail

/// A star, the shape of a parameter server: one rank, the server, talks to all others. The server is the root of the
/// operation, or rank 0 if it has none. An allreduce takes two messages one after the other, for any n, and all load is
/// on one rank. Only raw contributions are combined.
///
/// Allreduce of 4 ranks, step by step (x1 is the input of rank 1):
///
///     rank 0, the server                             ranks r = 1, 2, 3
///     0     work   = input * x1      fold_right      0   send input to 0       lent
///     1     work   = work * x2       fold_right      1   receive output from 0
///     2     output = work * x3       fold_right
///     3..5  send output to 3, 2, 1   given_back
///
/// A topology (see the concept in extend/topology.hpp) is three constants and, for each operation that it offers,
/// `blocks`, `steps` and `at`. Here the tree gives the rooted operations and allreduce (`on_tree`); allgather and
/// reduce_scatter are written out. A test asserts `verify(star{}, op, n)`.
///
/// Offers: allreduce, reduce, broadcast, reduce_scatter, allgather, gather, scatter.
/// Rank order: kept.
/// Cost: allreduce 2 L + 2 (n - 1) S G, all through the server's link (L: latency, S: bytes, G: time per byte).
/// Source: Li and others, "Scaling distributed machine learning with the parameter server", OSDI 2014.
struct star : detail::on_tree<detail::star_tree> {
  /// The name of the topology in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = "star";
  /// True if every operation combines in rank order, as reductions that do not commute need.
  static constexpr bool keeps_rank_order = true;
  /// True if only `input` is ever sent to be folded, and no partial sums.
  static constexpr bool sends_raw_contributions = true;

  using on_tree<detail::star_tree>::blocks;
  using on_tree<detail::star_tree>::steps;
  using on_tree<detail::star_tree>::at;

  // Allgather: the server gathers all blocks, then sends each rank the n - 1 blocks of the others. They are one cyclic
  // range, which begins behind the block of the rank.
  /// The number of blocks of the vector.
  [[nodiscard]] constexpr std::uint32_t blocks(op::allgather, rank_type n) const { return n; }
  /// The number of steps of rank me.
  [[nodiscard]] constexpr std::uint32_t steps(op::allgather, rank_type n, rank_type me) const {
    return n == 1 ? 1 : me == 0 ? 2 * n - 1 : 3;
  }
  /// Step i of rank me, of n ranks, in closed form.
  [[nodiscard]] constexpr step at(op::allgather, rank_type n, rank_type me, std::uint32_t i) const {
    if (i == 0) {
      return detail::copy_own_block(me);
    }
    if (me != 0) {
      const endpoint contribution{0, memory::input, {me, 1}};
      const endpoint remainder{0, memory::output, {(me + 1) % n, n - 1}};
      return i == 1 ? step{.send = contribution} : step{.receive = remainder, .sender_memory = memory::output};
    }
    if (i < n) {
      return {.receive = {i, memory::output, {i, 1}}, .sender_memory = memory::input};
    }
    const rank_type target = i - n + 1;
    return {.send = {target, memory::output, {(target + 1) % n, n - 1}}};
  }

  // Reduce-scatter: the server reduces the vector, then sends each rank its block. The rank finishes its block, because
  // the output of the server has room for one block only.
  /// The number of blocks of the vector.
  [[nodiscard]] constexpr std::uint32_t blocks(op::reduce_scatter, rank_type n) const { return n; }
  /// The number of steps of rank me.
  [[nodiscard]] constexpr std::uint32_t steps(op::reduce_scatter, rank_type n, rank_type me) const {
    return n == 1 ? 1 : me == 0 ? 2 * n - 1 : 3;
  }
  /// Step i of rank me, of n ranks, in closed form.
  [[nodiscard]] constexpr step at(op::reduce_scatter, rank_type n, rank_type me, std::uint32_t i) const {
    const block_range whole{0, n};
    if (n == 1) {
      return detail::copy_own_block(0);
    }
    if (me != 0) {
      return i == 0   ? step{.send = {0, memory::input, whole}}
             : i == 1 ? step{.receive = {0, memory::work, {me, 1}}}
                      : detail::copy_own_block(me, memory::work);
    }
    if (i < n - 1) {
      return {.receive = {i + 1, memory::work, whole},
              .action = action::fold_right,
              .local_memory = i == 0 ? memory::input : memory::work,
              .sender_memory = memory::input};
    }
    if (i == 2 * n - 2) {
      return detail::copy_own_block(0, memory::work);
    }
    const rank_type target = i - (n - 1) + 1;
    return {.send = {target, memory::work, {target, 1}}};
  }
};

}  // namespace tutti
