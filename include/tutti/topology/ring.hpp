// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/topology/tree.hpp>

namespace tutti::inline v0_1_0 {

/// A ring: in each step every rank sends one of n blocks to the next rank and receives one from the previous rank. It
/// moves the fewest bytes, and no link carries more than one message at a time.
///
/// Block b starts at rank b + 1, collects one contribution a hop and is finished at rank b; then the result goes around
/// once more.
///
/// Offers: allreduce, reduce, broadcast, reduce_scatter, allgather.
/// Rank order: not kept, because each block starts at another rank.
/// Cost: allreduce 2 (n - 1) L + 2 (n - 1) / n S G; reduce_scatter and allgather half of it; reduce and broadcast
/// stream n blocks over n - 1 hops, which takes (n - 1) L + 2 (n - 1) / n S G.
/// Source: Patarasu and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", Journal of
/// Parallel and Distributed Computing 69 (2009).
struct ring {
  /// The name of the topology in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = "ring";
  /// True if every operation combines in rank order, as reductions that do not commute need.
  static constexpr bool keeps_rank_order = false;
  /// True if only `input` is ever sent to be folded, and no partial sums.
  static constexpr bool sends_raw_contributions = false;
  /// True, since a rank sends each block of an allgather and reduce_scatter to one other rank.
  [[nodiscard]] static constexpr bool forwards_each_block_once() noexcept { return true; }

  /// The number of blocks of the vector.
  [[nodiscard]] constexpr std::uint32_t blocks(op::reduce_scatter, rank_type n) const { return n; }
  /// The number of steps of rank me.
  [[nodiscard]] constexpr std::uint32_t steps(op::reduce_scatter, rank_type n, rank_type) const {
    return n == 1 ? 1 : n - 1;
  }
  /// Step i of rank me, of n ranks, in closed form.
  [[nodiscard]] constexpr step at(op::reduce_scatter, rank_type n, rank_type me, std::uint32_t i) const {
    if (n == 1) {
      return detail::copy_own_block(0);
    }
    const memory source = i == 0 ? memory::input : memory::work;
    return {
        .send = {successor(n, me, 1), source, {predecessor(n, me, i + 1), 1}},
        .receive = {predecessor(n, me, 1), i + 2 == n ? memory::output : memory::work, {predecessor(n, me, i + 2), 1}},
        .action = action::fold_left,
        .local_memory = memory::input,
        .sender_memory = source};
  }

  /// The number of blocks of the vector.
  [[nodiscard]] constexpr std::uint32_t blocks(op::allgather, rank_type n) const { return n; }
  /// The number of steps of rank me.
  [[nodiscard]] constexpr std::uint32_t steps(op::allgather, rank_type n, rank_type) const { return n; }
  /// Step i of rank me, of n ranks, in closed form.
  [[nodiscard]] constexpr step at(op::allgather, rank_type n, rank_type me, std::uint32_t i) const {
    return i == 0 ? detail::copy_own_block(me) : pass_on(n, me, i - 1);
  }

  /// The number of blocks of the vector.
  [[nodiscard]] constexpr std::uint32_t blocks(op::allreduce, rank_type n) const { return n; }
  /// The number of steps of rank me.
  [[nodiscard]] constexpr std::uint32_t steps(op::allreduce, rank_type n, rank_type) const {
    return n == 1 ? 1 : 2 * (n - 1);
  }
  /// Step i of rank me, of n ranks, in closed form.
  [[nodiscard]] constexpr step at(op::allreduce, rank_type n, rank_type me, std::uint32_t i) const {
    return n == 1 || i < n - 1 ? at(op::reduce_scatter{}, n, me, i) : pass_on(n, me, i - (n - 1));
  }

  // Reduce: every block goes around from the rank after the root to the root. A rank sends block i - 1 while it
  // receives block i.
  /// The number of blocks of the vector.
  [[nodiscard]] constexpr std::uint32_t blocks(op::reduce, rank_type n) const { return n; }
  /// The number of steps of rank me.
  [[nodiscard]] constexpr std::uint32_t steps(op::reduce o, rank_type n, rank_type me) const {
    const rank_type hops = distance(n, successor(n, o.root, 1), me);
    return n == 1 ? 1 : hops == 0 || hops == n - 1 ? n : n + 1;
  }
  /// Step i of rank me, of n ranks, in closed form.
  [[nodiscard]] constexpr step at(op::reduce o, rank_type n, rank_type me, std::uint32_t i) const {
    const rank_type hops = distance(n, successor(n, o.root, 1), me);  // from the first rank to me
    if (n == 1) {
      return detail::copy_own_block(0);
    }
    step s;
    if (hops == 0) {
      s.send = {successor(n, me, 1), memory::input, {i, 1}};
      return s;
    }
    if (me != o.root && i > 0) {
      s.send = {successor(n, me, 1), memory::work, {i - 1, 1}};
    }
    if (i < n) {
      s.receive = {predecessor(n, me, 1), me == o.root ? memory::output : memory::work, {i, 1}};
      s.action = action::fold_left;
      s.local_memory = memory::input;
      s.sender_memory = hops == 1 ? memory::input : memory::work;
    }
    return s;
  }

  // Broadcast: every block goes around from the root. A rank sends block i - 1 while it receives block i.
  /// The number of blocks of the vector.
  [[nodiscard]] constexpr std::uint32_t blocks(op::broadcast, rank_type n) const { return n; }
  /// The number of steps of rank me.
  [[nodiscard]] constexpr std::uint32_t steps(op::broadcast o, rank_type n, rank_type me) const {
    const rank_type hops = distance(n, o.root, me);
    return n == 1 ? 0 : hops == 0 || hops == n - 1 ? n : n + 1;
  }
  /// Step i of rank me, of n ranks, in closed form.
  [[nodiscard]] constexpr step at(op::broadcast o, rank_type n, rank_type me, std::uint32_t i) const {
    const rank_type hops = distance(n, o.root, me);
    step s;
    if (hops == 0) {
      s.send = {successor(n, me, 1), memory::input, {i, 1}};
      return s;
    }
    if (hops != n - 1 && i > 0) {
      s.send = {successor(n, me, 1), memory::output, {i - 1, 1}};
    }
    if (i < n) {
      s.receive = {predecessor(n, me, 1), memory::output, {i, 1}};
      s.sender_memory = hops == 1 ? memory::input : memory::output;
    }
    return s;
  }

 private:
  // Arithmetic modulo n, without a division, for numbers below 2 n.
  [[nodiscard]] static constexpr rank_type successor(rank_type n, rank_type me, rank_type k) {
    return me + k < n ? me + k : me + k - n;
  }
  [[nodiscard]] static constexpr rank_type predecessor(rank_type n, rank_type me, rank_type k) {
    return me >= k ? me - k : me + n - k;
  }
  [[nodiscard]] static constexpr rank_type distance(rank_type n, rank_type origin, rank_type destination) {
    return predecessor(n, destination, origin);
  }

  /// Round i in which finished blocks go around.
  [[nodiscard]] static constexpr step pass_on(rank_type n, rank_type me, std::uint32_t i) {
    return {.send = {successor(n, me, 1), memory::output, {predecessor(n, me, i), 1}},
            .receive = {predecessor(n, me, 1), memory::output, {predecessor(n, me, i + 1), 1}},
            .sender_memory = memory::output};
  }
};

}  // namespace tutti
