// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/topology/tree.hpp>
#include <tutti/topology/star.hpp>

namespace tutti::inline v0_1_0 {

/// In-network aggregation: every rank sends its contribution to one aggregator, a switch that combines, and receives
/// the accumulator of all contributions from it. A broadcast is a message to the aggregator, which multicasts it.
///
/// Only raw contributions are combined. Operations that no device can perform run by `star`.
///
/// Offers: allreduce, reduce, broadcast.
/// Rank order: kept by the schedule. A device that cannot store the contributions of all workers combines in order of
/// arrival; it is used for commutative reductions only.
/// Cost: each rank sends S and receives S. An allreduce takes S G + 2 L + a packet, whatever the number of ranks; a
/// ring, which sends and receives 2 (n - 1) / n S, takes at most twice as long when S is large.
/// Source: Graham and others, "Scalable hierarchical aggregation protocol (SHArP)", 2016; Sapio and others, "Scaling
/// distributed machine learning with in-network aggregation" (SwitchML), 2021.
struct in_network {
  /// The name of the topology in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = "in_network";
  /// True if every operation combines in rank order, as reductions that do not commute need.
  static constexpr bool keeps_rank_order = true;
  /// True if only `input` is ever sent to be folded, and no partial sums.
  static constexpr bool sends_raw_contributions = true;

  /// The topology to run where no transport, or no device, can do what an aggregator is asked for.
  [[nodiscard]] static constexpr star without_aggregators() noexcept { return {}; }
  /// The number of aggregators that the operation needs beside n ranks.
  template <class Op>
    requires offers<in_network, Op>
  [[nodiscard]] constexpr rank_type aggregators(Op const&, rank_type n) const {
    return n == 1 ? 0 : 1;
  }

  // Allreduce: the aggregator has rank n; it folds one contribution a step, then sends the accumulator to every rank.
  /// The number of blocks of the vector.
  [[nodiscard]] constexpr std::uint32_t blocks(op::allreduce, rank_type) const { return 1; }
  /// The number of steps of rank me.
  [[nodiscard]] constexpr std::uint32_t steps(op::allreduce, rank_type n, rank_type me) const {
    return n == 1 ? 1 : me == n ? 2 * n : 2;
  }
  /// Step i of rank me, of n ranks, in closed form.
  [[nodiscard]] constexpr step at(op::allreduce, rank_type n, rank_type me, std::uint32_t i) const {
    if (n == 1) {
      return detail::copy_own_block(0);
    }
    if (me == n) {
      return i < n ? take(i) : give(i - n);
    }
    return i == 0 ? step{.send = {n, memory::input, whole},
                         .receive = {n, memory::work, whole},
                         .sender_memory = memory::work}
                  : detail::copy_own_block(0, memory::work);
  }

  // Reduce: the aggregator sends the accumulator to the root only.
  /// The number of blocks of the vector.
  [[nodiscard]] constexpr std::uint32_t blocks(op::reduce, rank_type) const { return 1; }
  /// The number of steps of rank me.
  [[nodiscard]] constexpr std::uint32_t steps(op::reduce o, rank_type n, rank_type me) const {
    return n == 1 ? 1 : me == n ? n + 1 : me == o.root ? 2 : 1;
  }
  /// Step i of rank me, of n ranks, in closed form.
  [[nodiscard]] constexpr step at(op::reduce o, rank_type n, rank_type me, std::uint32_t i) const {
    if (me == n && n != 1) {
      return i < n ? take(i) : give(o.root);
    }
    return n == 1 || me == o.root ? at(op::allreduce{}, n, me, i) : step{.send = {n, memory::input, whole}};
  }

  // Broadcast: the aggregator receives from the root and sends to all other ranks.
  /// The number of blocks of the vector.
  [[nodiscard]] constexpr std::uint32_t blocks(op::broadcast, rank_type) const { return 1; }
  /// The number of steps of rank me.
  [[nodiscard]] constexpr std::uint32_t steps(op::broadcast, rank_type n, rank_type me) const {
    return n == 1 ? 0 : me == n ? n : 1;
  }
  /// Step i of rank me, of n ranks, in closed form.
  [[nodiscard]] constexpr step at(op::broadcast o, rank_type n, rank_type me, std::uint32_t i) const {
    if (me == n) {
      return i == 0 ? step{.receive = {o.root, memory::work, whole}, .sender_memory = memory::input}
                    : give(i - 1 < o.root ? i - 1 : i);
    }
    return me == o.root ? step{.send = {n, memory::input, whole}}
                        : step{.receive = {n, memory::output, whole}, .sender_memory = memory::work};
  }

 private:
  static constexpr block_range whole{0, 1};

  /// A step of the aggregator: folds the contribution of rank r into the accumulator of the ranks below r. The first is
  /// folded with the aggregator's `input`, which is the identity.
  [[nodiscard]] static constexpr step take(rank_type r) {
    return {.receive = {r, memory::work, whole},
            .action = action::fold_right,
            .local_memory = r == 0 ? memory::input : memory::work,
            .sender_memory = memory::input};
  }
  [[nodiscard]] static constexpr step give(rank_type r) { return {.send = {r, memory::work, whole}}; }
};

}  // namespace tutti
