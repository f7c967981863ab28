// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/integer_cast.hpp>
#include <tutti/detail/topology/binomial_tree.hpp>
#include <tutti/detail/topology/pairing.hpp>
#include <tutti/detail/topology/prefix.hpp>

#include <bit>

namespace tutti::inline v0_1_0 {

namespace detail {

/// Prefixes by recursive doubling: in round i a rank sends the combination of up to 2^i contributions that it has, to
/// the rank 2^i above it.
struct doubling_prefixes {
  [[nodiscard]] static constexpr std::uint32_t steps(rank_type n, rank_type me) {
    return (sends(n, me) > receives(me) ? sends(n, me) : receives(me)) + (finishes_apart(n, me) ? 1 : 0);
  }
  [[nodiscard]] static constexpr step at(rank_type n, rank_type me, std::uint32_t i, memory origin) {
    constexpr block_range whole{0, 1};
    const memory source = me == 0 || i == 0 ? origin : memory::work;
    if (finishes_apart(n, me) && i + 1 == steps(n, me)) {
      return copy_own_block(0, me == 0 ? origin : memory::work);
    }
    const rank_type distance = rank_type{1} << i;
    step s;
    if (i < sends(n, me)) {
      s.send = {me + distance, source, whole};
    }
    if (i < receives(me)) {
      bool const is_last = i + 1 == receives(me) && !finishes_apart(n, me);
      s.receive = {me - distance, is_last ? memory::output : memory::work, whole};
      s.action = action::fold_left;
      s.local_memory = source;
      s.sender_memory = me == distance || i == 0 ? origin : memory::work;
    }
    return s;
  }

 private:
  /// The number of rounds in which a rank sends: the first rounds.
  [[nodiscard]] static constexpr std::uint32_t sends(rank_type n, rank_type me) {
    return integer_cast<std::uint32_t>(std::bit_width(n - 1 - me));
  }
  /// The number of rounds in which a rank receives: the first rounds.
  [[nodiscard]] static constexpr std::uint32_t receives(rank_type me) {
    return integer_cast<std::uint32_t>(std::bit_width(me));
  }
  /// True if a rank sends its prefix after the last fold, so that it needs the accumulator.
  [[nodiscard]] static constexpr bool finishes_apart(rank_type n, rank_type me) {
    return me == 0 || sends(n, me) > receives(me);
  }
};

/// Alltoall in rounds. Slot j of `work` first holds this rank's block for the rank j below. Round k sends the blocks of
/// all slots whose numbers have bit k to the rank 2^k below, which stores them in its slots of the same numbers. After
/// the last round, slot j holds the block of the rank j above.
///
/// The slots of a round are runs of 2^k, which are no range of blocks. Local steps gather them at the beginning of
/// `output`, from where they leave as one message. The arriving ones are stored behind them, and spread to their slots
/// by local steps, too. The first round sends blocks that come straight from `input`. The last round receives a single
/// run of slots.
struct doubling_exchange {
  [[nodiscard]] static constexpr std::uint32_t steps(rank_type n, rank_type me) {
    if (n == 1) {
      return 1;
    }
    std::uint32_t sum = n + (me == 0 ? 1 : 2);
    for (std::uint32_t k = 0; k != rounds(n); ++k) {
      sum += gathers(n, k) + 1 + spreads(n, k);
    }
    return sum;
  }
  [[nodiscard]] static constexpr step at(rank_type n, rank_type me, std::uint32_t i) {
    if (n == 1) {
      return copy_own_block(0);
    }
    if (i < n) {
      const endpoint slot{no_rank, memory::work, {i, 1}};
      const endpoint first_message{no_rank, memory::output, {i / 2, 1}};
      return {.send = {no_rank, memory::input, {(me + n - i) % n, 1}}, .receive = i % 2 == 0 ? slot : first_message};
    }
    i -= n;
    for (std::uint32_t k = 0; k != rounds(n); ++k) {
      const std::uint32_t size = gathers(n, k) + 1 + spreads(n, k);
      if (i < size) {
        return at_round(n, me, k, i);
      }
      i -= size;
    }
    const rank_type upper_count = n - me;  // the ranks from this one on
    return i == 0 ? step{.send = {no_rank, memory::work, {0, upper_count}},
                         .receive = {no_rank, memory::output, {me, upper_count}}}
                  : step{.send = {no_rank, memory::work, {upper_count, me}},
                         .receive = {no_rank, memory::output, {0, me}}};
  }

 private:
  /// Step i of round k.
  [[nodiscard]] static constexpr step at_round(rank_type n, rank_type me, std::uint32_t k, std::uint32_t i) {
    const rank_type distance = rank_type{1} << k;
    const std::uint32_t last_run = runs(n, k) - 1;
    const std::uint32_t count = last_run * distance + run(n, k, last_run).count;  // blocks in the message
    if (i < gathers(n, k)) {
      const block_range slot_range = run(n, k, i);
      return {.send = {no_rank, memory::work, slot_range},
              .receive = {no_rank, memory::output, {i * distance, slot_range.count}}};
    }
    i -= gathers(n, k);
    if (i == 0) {
      const endpoint arrivals{(me + distance) % n, memory::output, {count, count}};
      const endpoint slot_range{arrivals.peer, memory::work, {distance, count}};
      return {.send = {(me + n - distance) % n, memory::output, {0, count}},
              .receive = spreads(n, k) == 0 ? slot_range : arrivals,
              .sender_memory = memory::output};
    }
    const block_range slot_range = run(n, k, i - 1);
    return {.send = {no_rank, memory::output, {count + (i - 1) * distance, slot_range.count}},
            .receive = {no_rank, memory::work, slot_range}};
  }
  [[nodiscard]] static constexpr std::uint32_t rounds(rank_type n) {
    return integer_cast<std::uint32_t>(std::bit_width(n - 1));
  }
  /// The number of runs of slots in round k.
  [[nodiscard]] static constexpr std::uint32_t runs(rank_type n, std::uint32_t k) {
    return (n - 1 + (rank_type{1} << k)) >> (k + 1);
  }
  /// Run i of the slots of round k.
  [[nodiscard]] static constexpr block_range run(rank_type n, std::uint32_t k, std::uint32_t i) {
    const rank_type first = (2 * i + 1) << k;
    const rank_type size = rank_type{1} << k;
    return {first, size < n - first ? size : n - first};
  }
  /// The number of local steps before the message of round k.
  [[nodiscard]] static constexpr std::uint32_t gathers(rank_type n, std::uint32_t k) { return k == 0 ? 0 : runs(n, k); }
  /// The number of local steps after the message of round k.
  [[nodiscard]] static constexpr std::uint32_t spreads(rank_type n, std::uint32_t k) {
    return k + 1 == rounds(n) ? 0 : runs(n, k);
  }
};

}  // namespace detail

/// Recursive doubling, for short vectors: the fewest rounds. With q the largest power of two that is at most n, the
/// ranks form q groups of one or two. In round i of allreduce the leader of each group exchanges its partial result
/// with the leader of the group whose number differs in bit i. The second rank of a group gives its contribution to the
/// leader before, and gets the result afterwards. Rooted operations use binomial trees. Allgather is Bruck's, with no
/// rotation at the end because ranges of blocks are cyclic. In round i of scan each rank sends what it has combined to
/// the rank 2^i above it; exscan begins with a round in which each rank hands its contribution to the next one. In
/// round i of alltoall each rank sends the rank 2^i below it all blocks that have still to go so far; it takes equal
/// blocks only, because ranks forward them.
///
/// Offers: allreduce, reduce, broadcast, allgather, gather, scatter, alltoall, scan, exscan.
/// Rank order: kept, for any n and any root.
/// Cost: allreduce log2 n (L + S G) if n = q, else (log2 q + 2) (L + S G) at most; reduce, broadcast
/// ceil(log2 n) (L + S G) at most; scan as much, exscan L + S G more than a scan of n - 1 ranks;
/// allgather ceil(log2 n) L + (n - 1) / n S G, gather and scatter at most that;
/// alltoall ceil(log2 n) (L + S / 2 G) at most, and about 2.5 n local copies, S bytes of `work`.
/// Source: Bruck and others, "Efficient algorithms for all-to-all communications in multiport message-passing
/// systems", IEEE Transactions on Parallel and Distributed Systems 8 (1997), for allgather and alltoall.
struct doubling : detail::on_tree<detail::binomial_tree>, detail::on_prefixes<detail::doubling_prefixes> {
  /// The name of the topology in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = "doubling";
  /// True if every operation combines in rank order, as reductions that do not commute need.
  static constexpr bool keeps_rank_order = true;
  /// True if only `input` is ever sent to be folded, and no partial sums.
  static constexpr bool sends_raw_contributions = false;

  using on_tree<detail::binomial_tree>::blocks;
  using on_tree<detail::binomial_tree>::steps;
  using on_tree<detail::binomial_tree>::at;
  using on_prefixes<detail::doubling_prefixes>::blocks;
  using on_prefixes<detail::doubling_prefixes>::steps;
  using on_prefixes<detail::doubling_prefixes>::at;

  /// The number of steps of rank me.
  [[nodiscard]] constexpr std::uint32_t steps(op::allreduce, rank_type n, rank_type me) const {
    const detail::pairing p(n);
    return n == 1 ? 1 : p.follows(me) ? 2 : p.log() + (p.is_pair(p.group(me)) ? 2 : 0);
  }
  /// Step i of rank me, of n ranks, in closed form.
  [[nodiscard]] constexpr step at(op::allreduce, rank_type n, rank_type me, std::uint32_t i) const {
    constexpr block_range whole{0, 1};
    const detail::pairing p(n);
    if (n == 1) {
      return detail::copy_own_block(0);
    }
    if (p.follows(me)) {
      return i == 0 ? detail::hand_over(me - 1, whole, loan::lend) : detail::take_back(me - 1, whole);
    }
    const rank_type group = p.group(me);
    bool const is_pair = p.is_pair(group);
    if (is_pair && i-- == 0) {
      return detail::take_over(me + 1, whole);
    }
    if (i == p.log()) {
      return detail::give_back(me + 1, whole);
    }
    const rank_type partner = group ^ (rank_type{1} << i);
    const rank_type peer = p.leader(partner);
    const memory source = i == 0 && !is_pair ? memory::input : memory::work;
    const memory peer_source = i == 0 && !p.is_pair(partner) ? memory::input : memory::work;
    return {.send = {peer, source, whole},
            .receive = {peer, i + 1 == p.log() ? memory::output : memory::work, whole},
            .action = partner < group ? action::fold_left : action::fold_right,
            .local_memory = source,
            .sender_memory = peer_source};
  }

  /// The number of blocks of the vector.
  [[nodiscard]] constexpr std::uint32_t blocks(op::allgather, rank_type n) const { return n; }
  /// The number of steps of rank me.
  [[nodiscard]] constexpr std::uint32_t steps(op::allgather, rank_type n, rank_type) const {
    return 1 + detail::integer_cast<std::uint32_t>(std::bit_width(n - 1));
  }
  /// Step i of rank me, of n ranks, in closed form.
  [[nodiscard]] constexpr step at(op::allgather, rank_type n, rank_type me, std::uint32_t i) const {
    if (i == 0) {
      return detail::copy_own_block(me);
    }
    const rank_type size = rank_type{1} << (i - 1);  // the blocks me, me + 1, ...
    const rank_type count = size < n - size ? size : n - size;
    const rank_type next = (me + size) % n;
    return {.send = {(me + n - size) % n, memory::output, {me, count}},
            .receive = {next, memory::output, {next, count}},
            .sender_memory = memory::output};
  }

  /// The number of blocks of the vector.
  [[nodiscard]] constexpr std::uint32_t blocks(op::alltoall, rank_type n) const { return n; }
  /// The number of steps of rank me.
  [[nodiscard]] constexpr std::uint32_t steps(op::alltoall, rank_type n, rank_type me) const {
    return detail::doubling_exchange::steps(n, me);
  }
  /// Step i of rank me, of n ranks, in closed form.
  [[nodiscard]] constexpr step at(op::alltoall, rank_type n, rank_type me, std::uint32_t i) const {
    return detail::doubling_exchange::at(n, me, i);
  }
};

}  // namespace tutti
