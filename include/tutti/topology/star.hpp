// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/topology/tree.hpp>

namespace tutti::inline v0_1_0 {

namespace detail {

/// All other ranks are children of the root. Nearest ranks are folded first, those below, then those above.
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

/// The shape of a parameter server: one rank in the middle talks to all the others - the root where
/// the operation has one, rank 0 otherwise.
///
/// Only raw contributions are combined. The least latency, and all the load on one rank.
///
/// Offers: allreduce, reduce, broadcast, reduce_scatter, allgather, gather, scatter.
/// Order: kept.
/// Cost: allreduce 2 L + 2 (n - 1) S G, every byte of it through the server's link.
/// Source: Li and others, "Scaling distributed machine learning with the parameter server", OSDI 2014.
struct star : detail::on_tree<detail::star_tree> {
  /// The name of the topology in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = "star";
  /// True if reductions combine in rank order in every operation, as those that do not commute need.
  static constexpr bool keeps_order = true;
  /// True if only `input` is ever sent to be folded, and no partial sums.
  static constexpr bool sends_raw_contributions = true;

  using on_tree<detail::star_tree>::blocks;
  using on_tree<detail::star_tree>::steps;
  using on_tree<detail::star_tree>::at;

  // Allgather: the server gathers, then sends each rank what the others had: a range that wraps
  // around the rank's own block.
  /// The number of blocks into which the vector is cut, for n ranks.
  [[nodiscard]] constexpr std::uint32_t blocks(op::allgather, rank_type n) const { return n; }
  /// The number of steps of rank me, of n ranks.
  [[nodiscard]] constexpr std::uint32_t steps(op::allgather, rank_type n, rank_type me) const {
    return n == 1 ? 1 : me == 0 ? 2 * n - 1 : 3;
  }
  /// Step i of rank me, of n ranks, in closed form: steps may be asked for in any order.
  [[nodiscard]] constexpr step at(op::allgather, rank_type n, rank_type me, std::uint32_t i) const {
    if (i == 0) {
      return detail::keep_own(me);
    }
    if (me != 0) {
      const endpoint own{0, memory::input, {me, 1}};
      const endpoint others{0, memory::output, {(me + 1) % n, n - 1}};
      return i == 1 ? step{.send = own} : step{.receive = others, .arrives = memory::output};
    }
    if (i < n) {
      return {.receive = {i, memory::output, {i, 1}}, .arrives = memory::input};
    }
    const rank_type to = i - n + 1;
    return {.send = {to, memory::output, {(to + 1) % n, n - 1}}};
  }

  // Reduce-scatter: the server reduces the whole vector, then sends each rank its block. The rank
  // lowers it: the server has no room for finished blocks other than its own.
  /// The number of blocks into which the vector is cut, for n ranks.
  [[nodiscard]] constexpr std::uint32_t blocks(op::reduce_scatter, rank_type n) const { return n; }
  /// The number of steps of rank me, of n ranks.
  [[nodiscard]] constexpr std::uint32_t steps(op::reduce_scatter, rank_type n, rank_type me) const {
    return n == 1 ? 1 : me == 0 ? 2 * n - 1 : 3;
  }
  /// Step i of rank me, of n ranks, in closed form: steps may be asked for in any order.
  [[nodiscard]] constexpr step at(op::reduce_scatter, rank_type n, rank_type me, std::uint32_t i) const {
    const block_range all{0, n};
    if (n == 1) {
      return detail::keep_own(0);
    }
    if (me != 0) {
      return i == 0   ? step{.send = {0, memory::input, all}}
             : i == 1 ? step{.receive = {0, memory::work, {me, 1}}}
                      : detail::keep_own(me, memory::work);
    }
    if (i < n - 1) {
      return {.receive = {i + 1, memory::work, all},
              .how = action::fold_right,
              .local = i == 0 ? memory::input : memory::work,
              .arrives = memory::input};
    }
    if (i == 2 * n - 2) {
      return detail::keep_own(0, memory::work);
    }
    const rank_type to = i - (n - 1) + 1;
    return {.send = {to, memory::work, {to, 1}}};
  }
};

}  // namespace tutti
