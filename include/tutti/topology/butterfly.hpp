// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/topology/doubling.hpp>

namespace tutti::inline v0_1_0 {

/// Recursive halving and doubling, for long vectors: as few bytes as the ring in a logarithmic number of rounds.
///
/// In round i of halving, groups whose numbers differ in bit i exchange halves of their current part of the vector.
/// Neighbours come first, which keeps rank order. As a consequence, group g ends with the part whose number is g with
/// its bits reversed. Allreduce needs no correction, because doubling undoes the halving. Reduce_scatter needs one more
/// round, in which parts go to their owners.
///
/// Offers: allreduce, broadcast, reduce_scatter, allgather.
/// Rank order: kept.
/// Cost: with q the largest power of two in n, allreduce 2 L log2 n + 2 (n - 1) / n S G if n = q, else
/// 2 (L + S G) more, with q for n. For n = q, reduce_scatter (log2 n + 1) L + S G, allgather as
/// doubling's, broadcast at most 2 L log2 n + 2 (n - 1) / n S G.
/// Source: Rabenseifner, "Optimization of collective reduction operations", ICCS 2004.
struct butterfly {
  /// The name of the topology in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = "butterfly";
  /// True if every operation combines in rank order, as reductions that do not commute need.
  static constexpr bool keeps_rank_order = true;
  /// True if only `input` is ever sent to be folded, and no partial sums.
  static constexpr bool sends_raw_contributions = false;

  /// The number of blocks of the vector.
  [[nodiscard]] constexpr std::uint32_t blocks(op::allreduce, rank_type n) const { return detail::pairing(n).groups(); }
  /// The number of steps of rank me.
  [[nodiscard]] constexpr std::uint32_t steps(op::allreduce, rank_type n, rank_type me) const {
    const detail::pairing p(n);
    return n == 1 ? 1 : p.follows(me) ? 2 : 2 * p.log() + (p.is_pair(p.group(me)) ? 2 : 0);
  }
  /// Step i of rank me, of n ranks, in closed form.
  [[nodiscard]] constexpr step at(op::allreduce, rank_type n, rank_type me, std::uint32_t i) const {
    const detail::pairing p(n);
    const block_range whole{0, p.groups()};
    if (n == 1) {
      return detail::copy_own_block(0);
    }
    if (p.follows(me)) {
      return i == 0 ? detail::hand_over(me - 1, whole, loan::lend) : detail::take_back(me - 1, whole);
    }
    if (p.is_pair(p.group(me)) && i-- == 0) {
      return detail::take_over(me + 1, whole);
    }
    if (i == 2 * p.log()) {
      return detail::give_back(me + 1, whole);
    }
    if (i < p.log()) {
      step s = halve(p, me, i, i + 1 == p.log() ? memory::output : memory::work);
      s.loan = loan::lend;
      return s;
    }
    const exchange x = exchange_of(p, me, 2 * p.log() - 1 - i);
    const rank_type peer = p.leader(x.partner);
    return {.send = {peer, memory::output, x.kept_blocks},
            .receive = {peer, memory::output, x.sent_blocks},
            .sender_memory = memory::output,
            .loan = loan::give_back};
  }

  // Reduce-scatter: halving over the blocks of the members of each group; then every group sends its part to the owner
  // of that part.
  /// The number of blocks of the vector.
  [[nodiscard]] constexpr std::uint32_t blocks(op::reduce_scatter, rank_type n) const { return n; }
  /// The number of steps of rank me.
  [[nodiscard]] constexpr std::uint32_t steps(op::reduce_scatter, rank_type n, rank_type me) const {
    const detail::pairing p(n);
    const rank_type group = p.group(me);
    const rank_type part = reverse_bits(p, group);
    if (n == 1) {
      return 1;
    }
    if (p.follows(me)) {
      return 3;
    }
    const std::uint32_t halving = p.log() + (p.is_pair(group) ? 1 : 0);
    return halving + (part == group ? 0 : 1) + (p.is_pair(part) ? 1 : 0) + (finishes_at_once(p, group) ? 0 : 1);
  }
  /// Step i of rank me, of n ranks, in closed form.
  [[nodiscard]] constexpr step at(op::reduce_scatter, rank_type n, rank_type me, std::uint32_t i) const {
    const detail::pairing p(n);
    const rank_type group = p.group(me);
    const rank_type part = reverse_bits(p, group);
    const block_range whole{0, n};
    if (n == 1) {
      return detail::copy_own_block(0);
    }
    if (p.follows(me)) {
      return i == 0   ? detail::hand_over(me - 1, whole, loan::none)
             : i == 1 ? step{.receive = {p.leader(part), memory::work, {me, 1}}}
                      : detail::copy_own_block(me, memory::work);
    }
    if (p.is_pair(group) && i-- == 0) {
      return detail::take_over(me + 1, whole);
    }
    if (i < p.log()) {
      bool const last = i + 1 == p.log() && finishes_at_once(p, group);
      step s = halve(p, me, i, last ? memory::output : memory::work);
      s.send.blocks = members(p, s.send.blocks);
      s.receive.blocks = members(p, s.receive.blocks);
      return s;
    }
    i -= p.log();
    const rank_type owner = p.leader(part);
    if (part != group && i-- == 0) {
      return {.send = {owner, memory::work, {owner, 1}}, .receive = {owner, memory::work, {me, 1}}};
    }
    if (p.is_pair(part) && i-- == 0) {
      return {.send = {owner + 1, memory::work, {owner + 1, 1}}};
    }
    return detail::copy_own_block(me, memory::work);
  }

  /// The number of blocks of the vector.
  [[nodiscard]] constexpr std::uint32_t blocks(op::allgather o, rank_type n) const { return doubling{}.blocks(o, n); }
  /// The number of steps of rank me.
  [[nodiscard]] constexpr std::uint32_t steps(op::allgather o, rank_type n, rank_type me) const {
    return doubling{}.steps(o, n, me);
  }
  /// Step i of rank me, of n ranks, in closed form.
  [[nodiscard]] constexpr step at(op::allgather o, rank_type n, rank_type me, std::uint32_t i) const {
    return doubling{}.at(o, n, me, i);
  }

  // Broadcast: scatter down a binomial tree, then allgather (Barnett, Shuler, van de Geijn and others, 1994). Ranks
  // high in the tree receive some blocks twice: leaving these out would save neither a round nor time.
  /// The number of blocks of the vector.
  [[nodiscard]] constexpr std::uint32_t blocks(op::broadcast, rank_type n) const { return n; }
  /// The number of steps of rank me.
  [[nodiscard]] constexpr std::uint32_t steps(op::broadcast o, rank_type n, rank_type me) const {
    return broadcast_steps(detail::binomial_tree(n, o.root), me) + doubling{}.steps(op::allgather{}, n, me) - 1;
  }
  /// Step i of rank me, of n ranks, in closed form.
  [[nodiscard]] constexpr step at(op::broadcast o, rank_type n, rank_type me, std::uint32_t i) const {
    const detail::binomial_tree tree(n, o.root);
    const std::uint32_t scattering = broadcast_steps(tree, me);
    step s;
    if (i < scattering) {
      s = broadcast_step(tree, me, i);
      s.send.blocks = s.sends() ? tree.subtree(s.send.peer) : block_range{};
      s.receive.blocks = s.receives() ? tree.subtree(me) : block_range{};
      return s;
    }
    s = doubling{}.at(op::allgather{}, n, me, i - scattering + 1);
    if (me == o.root) {
      s.send.memory = memory::input;
      s.receive = {};
    } else {
      s.sender_memory = s.receive.peer == o.root ? memory::input : memory::output;
      s.send = s.send.peer == o.root ? endpoint{} : s.send;
    }
    return s;
  }

 private:
  /// True if the group ends halving with its own part, and that part is one block.
  [[nodiscard]] static constexpr bool finishes_at_once(detail::pairing p, rank_type group) {
    return reverse_bits(p, group) == group && !p.is_pair(group);
  }

  /// The blocks of the members of a range of groups.
  [[nodiscard]] static constexpr block_range members(detail::pairing p, block_range groups) {
    const rank_type first = p.leader(groups.first);
    return {first, p.leader(groups.first + groups.count) - first};
  }

  /// One round of halving of one group: its partner, the blocks that it keeps and the blocks that it sends.
  struct exchange {
    rank_type partner;
    block_range kept_blocks;
    block_range sent_blocks;
  };

  [[nodiscard]] static constexpr exchange exchange_of(detail::pairing p, rank_type me, std::uint32_t i) {
    const rank_type group = p.group(me);
    const rank_type bit = rank_type{1} << i;
    const std::uint32_t half = p.groups() >> (i + 1);
    const std::uint32_t first = reverse_bits(p, group & (bit - 1));
    bool const upper = (group & bit) != 0;
    return {group ^ bit, {first + (upper ? half : 0), half}, {first + (upper ? 0 : half), half}};
  }

  [[nodiscard]] static constexpr rank_type reverse_bits(detail::pairing p, rank_type group) {
    rank_type mirror = 0;
    for (rank_type low = 1, high = p.groups() >> 1; low <= group; low <<= 1, high >>= 1) {
      mirror |= (group & low) != 0 ? high : 0;
    }
    return mirror;
  }

  [[nodiscard]] static constexpr step halve(detail::pairing p, rank_type me, std::uint32_t i, memory target) {
    const exchange x = exchange_of(p, me, i);
    const rank_type peer = p.leader(x.partner);
    bool const first = i == 0;
    const memory source = first && !p.is_pair(p.group(me)) ? memory::input : memory::work;
    return {.send = {peer, source, x.sent_blocks},
            .receive = {peer, target, x.kept_blocks},
            .action = x.partner < p.group(me) ? action::fold_left : action::fold_right,
            .local_memory = source,
            .sender_memory = first && !p.is_pair(x.partner) ? memory::input : memory::work};
  }
};

}  // namespace tutti
