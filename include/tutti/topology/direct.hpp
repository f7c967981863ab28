// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/topology/star.hpp>

namespace tutti::inline v0_1_0 {

/// Every rank talks to every other: it collects its block from all ranks, reduces it and sends the result to all. Only
/// raw contributions are combined, in one hop.
///
/// In round i rank r sends to r + 1 + i and receives from r - 1 - i, so no two ranks send to one rank at a time. Each
/// rank starts with a different contribution, so rank order is not kept. In rank order, all ranks would receive from
/// rank 0 at once, then all from rank 1, and all would need buffers.
///
/// Offers: allreduce, reduce, broadcast, reduce_scatter, allgather, gather, scatter, alltoall.
/// Rank order: not kept.
/// Cost: allreduce 2 (n - 1) L + 2 (n - 1) / n S G, as the ring. A round waits for its message, so the transport
/// buffers nothing. A rank needs one block of `work`, rounds each element to the type of results once, and uses n - 1
/// links.
/// Source: the pairwise exchange of Thakur, Rabenseifner and Gropp, "Optimization of collective communication
/// operations in MPICH", International Journal of High Performance Computing Applications 19 (2005).
struct direct : detail::on_tree<detail::star_tree> {
  /// The name of the topology in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = "direct";
  /// True if every operation combines in rank order, as reductions that do not commute need.
  static constexpr bool keeps_rank_order = false;
  /// True if only `input` is ever sent to be folded, and no partial sums.
  static constexpr bool sends_raw_contributions = true;

  using on_tree<detail::star_tree>::blocks;
  using on_tree<detail::star_tree>::steps;
  using on_tree<detail::star_tree>::at;

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
    const rank_type target = receiver(n, me, i);
    return {.send = {target, memory::input, {target, 1}},
            .receive = {sender(n, me, i), i + 2 == n ? memory::output : memory::work, {me, 1}},
            .action = action::fold_left,
            .local_memory = i == 0 ? memory::input : memory::work,
            .sender_memory = memory::input};
  }

  /// The number of blocks of the vector.
  [[nodiscard]] constexpr std::uint32_t blocks(op::allgather, rank_type n) const { return n; }
  /// The number of steps of rank me.
  [[nodiscard]] constexpr std::uint32_t steps(op::allgather, rank_type n, rank_type) const { return n; }
  /// Step i of rank me, of n ranks, in closed form.
  [[nodiscard]] constexpr step at(op::allgather, rank_type n, rank_type me, std::uint32_t i) const {
    return i == 0 ? detail::copy_own_block(me) : hand_out(n, me, i - 1);
  }

  /// The number of blocks of the vector.
  [[nodiscard]] constexpr std::uint32_t blocks(op::allreduce, rank_type n) const { return n; }
  /// The number of steps of rank me.
  [[nodiscard]] constexpr std::uint32_t steps(op::allreduce, rank_type n, rank_type) const {
    return n == 1 ? 1 : 2 * (n - 1);
  }
  /// Step i of rank me, of n ranks, in closed form.
  [[nodiscard]] constexpr step at(op::allreduce, rank_type n, rank_type me, std::uint32_t i) const {
    if (n == 1) {
      return detail::copy_own_block(0);
    }
    step s = i < n - 1 ? at(op::reduce_scatter{}, n, me, i) : hand_out(n, me, i - (n - 1));
    s.loan = i < n - 1 ? loan::lend : loan::give_back;
    return s;
  }

  // Reduce: every rank reduces its block, as in reduce_scatter, and sends it to the root. The root finishes the blocks,
  // because only the root has an output.
  /// The number of blocks of the vector.
  [[nodiscard]] constexpr std::uint32_t blocks(op::reduce, rank_type n) const { return n; }
  /// The number of steps of rank me.
  [[nodiscard]] constexpr std::uint32_t steps(op::reduce o, rank_type n, rank_type me) const {
    return n == 1 ? 1 : me == o.root ? 2 * n - 1 : n;
  }
  /// Step i of rank me, of n ranks, in closed form.
  [[nodiscard]] constexpr step at(op::reduce o, rank_type n, rank_type me, std::uint32_t i) const {
    if (n == 1) {
      return detail::copy_own_block(0);
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
    const rank_type source = sender(n, me, i - (n - 1));
    return {.receive = {source, memory::work, {source, 1}}};
  }

  // Broadcast: the root sends every rank one block, and the ranks send these to each other.
  /// The number of blocks of the vector.
  [[nodiscard]] constexpr std::uint32_t blocks(op::broadcast, rank_type n) const { return n; }
  /// The number of steps of rank me.
  [[nodiscard]] constexpr std::uint32_t steps(op::broadcast o, rank_type n, rank_type me) const {
    return me == o.root ? 2 * (n - 1) : n;
  }
  /// Step i of rank me, of n ranks, in closed form.
  [[nodiscard]] constexpr step at(op::broadcast o, rank_type n, rank_type me, std::uint32_t i) const {
    if (me == o.root) {
      const rank_type target = receiver(n, me, i < n - 1 ? i : i - (n - 1));
      return {.send = {target, memory::input, {i < n - 1 ? target : me, 1}}};
    }
    if (i == 0) {
      return {.receive = {o.root, memory::output, {me, 1}}, .sender_memory = memory::input};
    }
    step s = hand_out(n, me, i - 1);
    if (s.receive.peer == o.root) {
      s.sender_memory = memory::input;
    }
    if (s.send.peer == o.root) {
      s.send = {};
    }
    return s;
  }

  // Alltoall: ranks exchange blocks in pairs. The pairs of round i are those of the circle method of tournaments: their
  // numbers add up to i modulo m, the largest odd number that is at most n. The rank without a partner keeps its own
  // block if n is odd, and meets the last rank if n is even.
  /// The number of blocks of the vector.
  [[nodiscard]] constexpr std::uint32_t blocks(op::alltoall, rank_type n) const { return n; }
  /// The number of steps of rank me.
  [[nodiscard]] constexpr std::uint32_t steps(op::alltoall, rank_type n, rank_type) const { return n; }
  /// Step i of rank me, of n ranks, in closed form.
  [[nodiscard]] constexpr step at(op::alltoall, rank_type n, rank_type me, std::uint32_t i) const {
    bool const even = n % 2 == 0;
    const rank_type last = n - 1;
    if (even && i == last) {
      return detail::copy_own_block(me);
    }
    const rank_type ring = even ? n - 1 : n;
    rank_type peer = last;
    if (even && me == last) {
      peer = i % 2 == 0 ? i / 2 : (i + ring) / 2;
    } else if (const rank_type partner = (i + ring - me) % ring; !even || partner != me) {
      peer = partner;
    }
    if (peer == me) {
      return detail::copy_own_block(me);
    }
    return {.send = {peer, memory::input, {peer, 1}},
            .receive = {peer, memory::output, {peer, 1}},
            .sender_memory = memory::input};
  }

 private:
  // The rank that `me` sends to in round i, and the rank that it receives from.
  [[nodiscard]] static constexpr rank_type receiver(rank_type n, rank_type me, std::uint32_t i) {
    return (me + 1 + i) % n;
  }
  [[nodiscard]] static constexpr rank_type sender(rank_type n, rank_type me, std::uint32_t i) {
    return (me + n - 1 - i) % n;
  }

  [[nodiscard]] static constexpr step hand_out(rank_type n, rank_type me, std::uint32_t i) {
    const rank_type source = sender(n, me, i);
    return {.send = {receiver(n, me, i), memory::output, {me, 1}},
            .receive = {source, memory::output, {source, 1}},
            .sender_memory = memory::output};
  }
};

}  // namespace tutti
