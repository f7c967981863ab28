// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/topology.hpp>

#include <concepts>

namespace tutti::inline v0_1_0::detail::inline engine {

/// Wraps a topology whose in-network aggregators combine, for a reduction whose contributions must be converted to
/// accumulators first ("lifted"). Aggregators cannot lift, so each rank does, in a local step before the others, and
/// only accumulators travel.
template <tutti::topology Inner>
struct lift_first {
  static constexpr std::string_view name = Inner::name;
  static constexpr bool keeps_rank_order = Inner::keeps_rank_order;
  static constexpr bool sends_raw_contributions = false;

  /// False for operations that only move elements: nothing is lifted.
  template <class Op>
  static constexpr bool reduces =
      has_aggregators<Inner, Op> &&
      (std::same_as<Op, op::allreduce> || std::same_as<Op, op::reduce> || std::same_as<Op, op::reduce_scatter>);

  [[no_unique_address]] Inner inner;

  [[nodiscard]] constexpr topology_settings settings(rank_type n) const
    requires has_settings<Inner>
  {
    return inner.settings(n);
  }
  [[nodiscard]] constexpr auto without_aggregators() const { return inner.without_aggregators(); }
  template <class Op>
    requires reduces<Op>
  [[nodiscard]] constexpr rank_type aggregators(Op const& op, rank_type n) const {
    return inner.aggregators(op, n);
  }

  template <class Op>
    requires reduces<Op>
  [[nodiscard]] constexpr std::uint32_t blocks(Op const& op, rank_type n) const {
    return inner.blocks(op, n);
  }
  template <class Op>
    requires reduces<Op>
  [[nodiscard]] constexpr std::uint32_t steps(Op const& op, rank_type n, rank_type me) const {
    return inner.steps(op, n, me) + (me < n ? 1 : 0);
  }
  template <class Op>
    requires reduces<Op>
  [[nodiscard]] constexpr step at(Op const& op, rank_type n, rank_type me, std::uint32_t i) const {
    if (me < n && i == 0) {
      block_range const full_range{0, inner.blocks(op, n)};
      return {.send = {no_rank, memory::input, full_range}, .receive = {no_rank, memory::work, full_range}};
    }
    step s = inner.at(op, n, me, me < n ? i - 1 : i);
    s.sender_memory = lifted_memory(s.sender_memory);
    if (me < n) {  // the identity, which an aggregator's input holds, is an accumulator already
      s.send.memory = lifted_memory(s.send.memory);
      s.local_memory = lifted_memory(s.local_memory);
    }
    return s;
  }

 private:
  [[nodiscard]] static constexpr memory lifted_memory(tutti::memory memory) noexcept {
    return memory == memory::input ? memory::work : memory;
  }
};
template <tutti::topology Inner>
lift_first(Inner) -> lift_first<Inner>;

}  // namespace tutti::detail::engine
