// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/topology/star.hpp>

namespace tutti::inline v0_1_0 {

/// Every rank talks to every other: it takes its own block from the input of all, reduces it and
/// hands it out. Only raw contributions are combined, in one hop.
///
/// In round i rank r sends to r + 1 + i and receives from r - 1 - i, so that no rank is sent to by two
/// at once. Each rank therefore starts with another contribution, and rank order is not kept: in rank
/// order, all ranks would take from rank 0 at once, then all from rank 1, and none without buffers.
///
/// Offers: allreduce, reduce, broadcast, reduce_scatter, allgather, gather, scatter, alltoall.
/// Order: not kept.
/// Cost: allreduce 2 (n - 1) L + 2 (n - 1) / n S G, as the ring; a round waits for its message, so that
/// no buffer is needed. It has one block of scratch memory, rounds once, and talks over n - 1 links.
/// Source: the pairwise exchange of Thakur, Rabenseifner and Gropp, "Optimization of collective communication
/// operations in MPICH", International Journal of High Performance Computing Applications 19 (2005).
struct direct : detail::on_tree<detail::star_tree> {
  /// The name of the topology in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = "direct";
  /// True if reductions combine in rank order in every operation, as those that do not commute need.
  static constexpr bool keeps_order = false;
  /// True if only `input` is ever sent to be folded, and no partial sums.
  static constexpr bool sends_raw_contributions = true;

  using on_tree<detail::star_tree>::blocks;
  using on_tree<detail::star_tree>::steps;
  using on_tree<detail::star_tree>::at;

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
    const rank_type to = above(n, me, i);
    return {.send = {to, memory::input, {to, 1}},
            .receive = {below(n, me, i), i + 2 == n ? memory::output : memory::work, {me, 1}},
            .how = action::fold_left,
            .local = i == 0 ? memory::input : memory::work,
            .arrives = memory::input};
  }

  /// The number of blocks into which the vector is cut, for n ranks.
  [[nodiscard]] constexpr std::uint32_t blocks(op::allgather, rank_type n) const { return n; }
  /// The number of steps of rank me, of n ranks.
  [[nodiscard]] constexpr std::uint32_t steps(op::allgather, rank_type n, rank_type) const { return n; }
  /// Step i of rank me, of n ranks, in closed form: steps may be asked for in any order.
  [[nodiscard]] constexpr step at(op::allgather, rank_type n, rank_type me, std::uint32_t i) const {
    return i == 0 ? detail::keep_own(me) : hand_out(n, me, i - 1);
  }

  /// The number of blocks into which the vector is cut, for n ranks.
  [[nodiscard]] constexpr std::uint32_t blocks(op::allreduce, rank_type n) const { return n; }
  /// The number of steps of rank me, of n ranks.
  [[nodiscard]] constexpr std::uint32_t steps(op::allreduce, rank_type n, rank_type) const {
    return n == 1 ? 1 : 2 * (n - 1);
  }
  /// Step i of rank me, of n ranks, in closed form: steps may be asked for in any order.
  [[nodiscard]] constexpr step at(op::allreduce, rank_type n, rank_type me, std::uint32_t i) const {
    if (n == 1) {
      return detail::keep_own(0);
    }
    step s = i < n - 1 ? at(op::reduce_scatter{}, n, me, i) : hand_out(n, me, i - (n - 1));
    s.loan = i < n - 1 ? loan::lent : loan::given_back;
    return s;
  }

  // Reduce: the blocks are reduced as above, then all go to the root. It lowers them: the others have
  // no room for results.
  /// The number of blocks into which the vector is cut, for n ranks.
  [[nodiscard]] constexpr std::uint32_t blocks(op::reduce, rank_type n) const { return n; }
  /// The number of steps of rank me, of n ranks.
  [[nodiscard]] constexpr std::uint32_t steps(op::reduce o, rank_type n, rank_type me) const {
    return n == 1 ? 1 : me == o.root ? 2 * n - 1 : n;
  }
  /// Step i of rank me, of n ranks, in closed form: steps may be asked for in any order.
  [[nodiscard]] constexpr step at(op::reduce o, rank_type n, rank_type me, std::uint32_t i) const {
    if (n == 1) {
      return detail::keep_own(0);
    }
    if (i < n - 1) {
      step s = at(op::reduce_scatter{}, n, me, i);
      s.receive.memory = memory::work;
      return s;
    }
    if (me != o.root) {
      return {.send = {o.root, memory::work, {me, 1}}};
    }
    if (i == 2 * n - 2) {
      return {.send = {no_rank, memory::work, {0, n}}, .receive = {no_rank, memory::output, {0, n}}};
    }
    const rank_type from = below(n, me, i - (n - 1));
    return {.receive = {from, memory::work, {from, 1}}};
  }

  // Broadcast: the root gives every rank its block, and the ranks hand them out.
  /// The number of blocks into which the vector is cut, for n ranks.
  [[nodiscard]] constexpr std::uint32_t blocks(op::broadcast, rank_type n) const { return n; }
  /// The number of steps of rank me, of n ranks.
  [[nodiscard]] constexpr std::uint32_t steps(op::broadcast o, rank_type n, rank_type me) const {
    return me == o.root ? 2 * (n - 1) : n;
  }
  /// Step i of rank me, of n ranks, in closed form: steps may be asked for in any order.
  [[nodiscard]] constexpr step at(op::broadcast o, rank_type n, rank_type me, std::uint32_t i) const {
    if (me == o.root) {
      const rank_type to = above(n, me, i < n - 1 ? i : i - (n - 1));
      return {.send = {to, memory::input, {i < n - 1 ? to : me, 1}}};
    }
    if (i == 0) {
      return {.receive = {o.root, memory::output, {me, 1}}, .arrives = memory::input};
    }
    step s = hand_out(n, me, i - 1);
    if (s.receive.peer == o.root) {
      s.arrives = memory::input;
    }
    if (s.send.peer == o.root) {
      s.send = {};
    }
    return s;
  }

  // Alltoall: ranks exchange in pairs, so that in place a block leaves just as another takes its room. In
  // round i those meet whose numbers add up to i, modulo n or the odd number below; the rank that is
  // left over meets itself, or the last one if n is even (the circle method of tournaments).
  /// The number of blocks into which the vector is cut, for n ranks.
  [[nodiscard]] constexpr std::uint32_t blocks(op::alltoall, rank_type n) const { return n; }
  /// The number of steps of rank me, of n ranks.
  [[nodiscard]] constexpr std::uint32_t steps(op::alltoall, rank_type n, rank_type) const { return n; }
  /// Step i of rank me, of n ranks, in closed form: steps may be asked for in any order.
  [[nodiscard]] constexpr step at(op::alltoall, rank_type n, rank_type me, std::uint32_t i) const {
    bool const even = n % 2 == 0;
    const rank_type last = n - 1;
    if (even && i == last) {
      return detail::keep_own(me);
    }
    const rank_type ring = even ? n - 1 : n;
    rank_type peer = last;
    if (even && me == last) {
      peer = i % 2 == 0 ? i / 2 : (i + ring) / 2;
    } else if (const rank_type other = (i + ring - me) % ring; !even || other != me) {
      peer = other;
    }
    if (peer == me) {
      return detail::keep_own(me);
    }
    return {.send = {peer, memory::input, {peer, 1}},
            .receive = {peer, memory::output, {peer, 1}},
            .arrives = memory::input};
  }

 private:
  // The partners of round i.
  [[nodiscard]] static constexpr rank_type above(rank_type n, rank_type me, std::uint32_t i) {
    return (me + 1 + i) % n;
  }
  [[nodiscard]] static constexpr rank_type below(rank_type n, rank_type me, std::uint32_t i) {
    return (me + n - 1 - i) % n;
  }

  [[nodiscard]] static constexpr step hand_out(rank_type n, rank_type me, std::uint32_t i) {
    const rank_type from = below(n, me, i);
    return {.send = {above(n, me, i), memory::output, {me, 1}},
            .receive = {from, memory::output, {from, 1}},
            .arrives = memory::output};
  }
};

}  // namespace tutti
