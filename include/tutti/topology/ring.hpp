// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/topology/tree.hpp>

namespace tutti::inline v0_1_0 {

/// Every rank sends to the next one and receives from the one before, all at once, one block of n at
/// a time: the fewest bytes, and no link carries more than one message at a time.
///
/// Block b starts at rank b + 1, is combined once around and is finished at rank b; then it goes
/// around again as a result.
///
/// Offers: allreduce, reduce, broadcast, reduce_scatter, allgather.
/// Order: not kept, for each block starts elsewhere.
/// Cost: allreduce 2 (n - 1) L + 2 (n - 1) / n S G; reduce_scatter and allgather half of it; reduce and broadcast
/// stream n blocks over n - 1 hops, which takes (n - 1) L + 2 (n - 1) / n S G.
/// Source: Patarasu and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", Journal of
/// Parallel and Distributed Computing 69 (2009).
struct ring {
  /// The name of the topology in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = "ring";
  /// True if reductions combine in rank order in every operation, as those that do not commute need.
  static constexpr bool keeps_order = false;
  /// True if only `input` is ever sent to be folded, and no partial sums.
  static constexpr bool sends_raw_contributions = false;

  /// The number of blocks into which the vector is cut, for n ranks.
  [[nodiscard]] constexpr std::uint32_t blocks(op::reduce_scatter, rank_type n) const { return n; }
  /// The number of steps of rank me, of n ranks.
  [[nodiscard]] constexpr std::uint32_t steps(op::reduce_scatter, rank_type n, rank_type) const {
    return n == 1 ? 1 : n - 1;
  }
  /// Step i of rank me, of n ranks, in closed form: steps may be asked for in any order.
  [[nodiscard]] constexpr step at(op::reduce_scatter, rank_type n, rank_type me, std::uint32_t i) const {
    if (n == 1) {
      return detail::keep_own(0);
    }
    const memory sent = i == 0 ? memory::input : memory::work;
    return {.send = {after(n, me, 1), sent, {before(n, me, i + 1), 1}},
            .receive = {before(n, me, 1), i + 2 == n ? memory::output : memory::work, {before(n, me, i + 2), 1}},
            .how = action::fold_left,
            .local = memory::input,
            .arrives = sent};
  }

  /// The number of blocks into which the vector is cut, for n ranks.
  [[nodiscard]] constexpr std::uint32_t blocks(op::allgather, rank_type n) const { return n; }
  /// The number of steps of rank me, of n ranks.
  [[nodiscard]] constexpr std::uint32_t steps(op::allgather, rank_type n, rank_type) const { return n; }
  /// Step i of rank me, of n ranks, in closed form: steps may be asked for in any order.
  [[nodiscard]] constexpr step at(op::allgather, rank_type n, rank_type me, std::uint32_t i) const {
    return i == 0 ? detail::keep_own(me) : pass_on(n, me, i - 1);
  }

  /// The number of blocks into which the vector is cut, for n ranks.
  [[nodiscard]] constexpr std::uint32_t blocks(op::allreduce, rank_type n) const { return n; }
  /// The number of steps of rank me, of n ranks.
  [[nodiscard]] constexpr std::uint32_t steps(op::allreduce, rank_type n, rank_type) const {
    return n == 1 ? 1 : 2 * (n - 1);
  }
  /// Step i of rank me, of n ranks, in closed form: steps may be asked for in any order.
  [[nodiscard]] constexpr step at(op::allreduce, rank_type n, rank_type me, std::uint32_t i) const {
    return n == 1 || i < n - 1 ? at(op::reduce_scatter{}, n, me, i) : pass_on(n, me, i - (n - 1));
  }

  // Reduce: every block goes from the rank after the root around to the root. A rank passes block
  // i - 1 on while block i comes in.
  /// The number of blocks into which the vector is cut, for n ranks.
  [[nodiscard]] constexpr std::uint32_t blocks(op::reduce, rank_type n) const { return n; }
  /// The number of steps of rank me, of n ranks.
  [[nodiscard]] constexpr std::uint32_t steps(op::reduce o, rank_type n, rank_type me) const {
    const rank_type way = distance(n, after(n, o.root, 1), me);
    return n == 1 ? 1 : way == 0 || way == n - 1 ? n : n + 1;
  }
  /// Step i of rank me, of n ranks, in closed form: steps may be asked for in any order.
  [[nodiscard]] constexpr step at(op::reduce o, rank_type n, rank_type me, std::uint32_t i) const {
    const rank_type way = distance(n, after(n, o.root, 1), me);  // the hops behind me
    if (n == 1) {
      return detail::keep_own(0);
    }
    step s;
    if (way == 0) {
      s.send = {after(n, me, 1), memory::input, {i, 1}};
      return s;
    }
    if (me != o.root && i > 0) {
      s.send = {after(n, me, 1), memory::work, {i - 1, 1}};
    }
    if (i < n) {
      s.receive = {before(n, me, 1), me == o.root ? memory::output : memory::work, {i, 1}};
      s.how = action::fold_left;
      s.local = memory::input;
      s.arrives = way == 1 ? memory::input : memory::work;
    }
    return s;
  }

  // Broadcast: the same way from the root.
  /// The number of blocks into which the vector is cut, for n ranks.
  [[nodiscard]] constexpr std::uint32_t blocks(op::broadcast, rank_type n) const { return n; }
  /// The number of steps of rank me, of n ranks.
  [[nodiscard]] constexpr std::uint32_t steps(op::broadcast o, rank_type n, rank_type me) const {
    const rank_type way = distance(n, o.root, me);
    return n == 1 ? 0 : way == 0 || way == n - 1 ? n : n + 1;
  }
  /// Step i of rank me, of n ranks, in closed form: steps may be asked for in any order.
  [[nodiscard]] constexpr step at(op::broadcast o, rank_type n, rank_type me, std::uint32_t i) const {
    const rank_type way = distance(n, o.root, me);
    step s;
    if (way == 0) {
      s.send = {after(n, me, 1), memory::input, {i, 1}};
      return s;
    }
    if (way != n - 1 && i > 0) {
      s.send = {after(n, me, 1), memory::output, {i - 1, 1}};
    }
    if (i < n) {
      s.receive = {before(n, me, 1), memory::output, {i, 1}};
      s.arrives = way == 1 ? memory::input : memory::output;
    }
    return s;
  }

 private:
  // Arithmetic modulo n, of numbers below 2 n.
  [[nodiscard]] static constexpr rank_type after(rank_type n, rank_type me, rank_type k) {
    return me + k < n ? me + k : me + k - n;
  }
  [[nodiscard]] static constexpr rank_type before(rank_type n, rank_type me, rank_type k) {
    return me >= k ? me - k : me + n - k;
  }
  [[nodiscard]] static constexpr rank_type distance(rank_type n, rank_type from, rank_type to) {
    return before(n, to, from);
  }

  /// Round i of sending finished blocks around.
  [[nodiscard]] static constexpr step pass_on(rank_type n, rank_type me, std::uint32_t i) {
    return {.send = {after(n, me, 1), memory::output, {before(n, me, i), 1}},
            .receive = {before(n, me, 1), memory::output, {before(n, me, i + 1), 1}},
            .arrives = memory::output};
  }
};

}  // namespace tutti
