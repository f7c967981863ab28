// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/verify/contents.hpp>
#include <tutti/extend/expects.hpp>

#include <span>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0 {

/// The operation and the rank that a plan is made for.
struct plan_purpose {
  operation_kind kind = operation_kind::none;  ///< the operation
  rank_type root = no_rank;                    ///< its root, or no_rank
  rank_type ranks = 0;                         ///< the number of ranks
  rank_type me = no_rank;                      ///< the rank whose schedule it is

  /// The purpose of a plan of operation `o` for rank me, of n ranks.
  template <class Op>
  [[nodiscard]] static constexpr plan_purpose make(Op const& o, rank_type n, rank_type me) noexcept {
    plan_purpose p{detail::verify::kind_of<Op>, no_rank, n, me};
    if constexpr (requires { o.root; }) {
      p.root = o.root;
    }
    return p;
  }
  friend constexpr bool operator==(plan_purpose const&, plan_purpose const&) = default;
};

/// A purpose in words: "broadcast, root 1, by rank 0 of 3".
[[nodiscard]] TUTTI_DECL std::string describe(plan_purpose const& p);

namespace detail {
/// @throws precondition_error always: a plan made for one purpose was used for another
[[noreturn]] TUTTI_DECL void refuse_plan(plan_purpose const& purpose, topology_settings const& settings,
                                         plan_purpose const& request);
}  // namespace detail

/// A view of a plan: the flattened schedule of one rank in one operation, as a topology. `blocks` and `steps` throw for
/// any other operation, root or rank. Topologies that are picked at run time become this one type, so instantiations do
/// not multiply. The settings of the original topology are part of the call.
///
/// Offers: the operation that the plan was made for.
/// Rank order: that of the original topology.
/// Cost: that of the original topology.
/// Source: that of the original topology.
///
/// @pre the plan outlives this view
template <bool KeepsRankOrder, bool SendsRaw = false>
class planned_schedule {
 public:
  /// The name of the topology in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = "planned";
  /// True if every operation combines in rank order, as reductions that do not commute need.
  static constexpr bool keeps_rank_order = KeepsRankOrder;
  /// True if only `input` is ever sent to be folded, and no partial sums.
  static constexpr bool sends_raw_contributions = SendsRaw;

  /// Views steps, which must outlive this view; `plan::view` calls it.
  constexpr planned_schedule(std::span<step const> steps, std::uint32_t blocks, plan_purpose const& purpose,
                             topology_settings const& origin) noexcept
      : steps_(steps), blocks_(blocks), purpose_(purpose), origin_(origin) {}

  /// The settings of the original topology, which must be equal on all ranks.
  [[nodiscard]] constexpr topology_settings settings(rank_type) const noexcept { return origin_; }

  /// @throws precondition_error if the plan was made for another purpose
  template <class Op>
  [[nodiscard]] constexpr std::uint32_t blocks(Op const& o, rank_type n) const {
    expect(plan_purpose::make(o, n, purpose_.me));
    return blocks_;
  }
  /// @throws precondition_error if the plan was made for another purpose
  template <class Op>
  [[nodiscard]] constexpr std::uint32_t steps(Op const& o, rank_type n, rank_type me) const {
    expect(plan_purpose::make(o, n, me));
    return static_cast<std::uint32_t>(steps_.size());
  }
  /// Step i of the stored schedule. The other arguments are not checked.
  template <class Op>
  [[nodiscard]] constexpr step at(Op const&, rank_type, rank_type, std::uint32_t i) const noexcept {
    return steps_[i];
  }

 private:
  constexpr void expect(plan_purpose const& request) const {
    if (request != purpose_) [[unlikely]] {
      detail::refuse_plan(purpose_, origin_, request);
    }
  }

  std::span<step const> steps_;
  std::uint32_t blocks_;
  plan_purpose purpose_;
  topology_settings origin_;
};

/// Owns the steps of one rank: `plan p(topology, op, n, me)`; `p.view()` is the topology. Allocates once, in its
/// constructor.
template <bool KeepsRankOrder, bool SendsRaw = false>
class plan {
 public:
  /// Flattens the schedule of rank me. A topology with aggregators is replaced by its topology without aggregators.
  /// @throws precondition_error if KeepsRankOrder, and the topology does not keep rank order in this operation
  template <identifiable Topology, class Op>
    requires offers<Topology, Op> && (!std::same_as<Op, op::transfer>) &&
             (!KeepsRankOrder || detail::ranks_alone_t<Op, Topology>::keeps_rank_order ||
              tells_rank_order<Topology, Op>) &&
             (!SendsRaw || detail::ranks_alone_t<Op, Topology>::sends_raw_contributions)
  constexpr plan(Topology const& topology, Op op, rank_type n, rank_type me)
      : plan(ranks_only{}, detail::ranks_alone<Op>(topology), op, n, me) {}

  /// The topology that runs this plan. @pre the plan outlives it
  [[nodiscard]] constexpr planned_schedule<KeepsRankOrder, SendsRaw> view() const noexcept {
    return {steps_, blocks_, purpose_, origin_};
  }

 private:
  struct ranks_only {};
  template <class Topology, class Op>
  constexpr plan(ranks_only, Topology const& topology, Op op, rank_type n, rank_type me)
      : blocks_(topology.blocks(op, n)), purpose_(plan_purpose::make(op, n, me)), origin_(identity_of(topology, n)) {
    expects(!KeepsRankOrder || combines_in_rank_order<Op>(topology, n),
            "plan<true> needs a topology that combines in rank order, but this one does not: choose another one, or "
            "use plan<false>");
    std::uint32_t const count = topology.steps(op, n, me);
    steps_.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      steps_.push_back(topology.at(op, n, me, i));
    }
  }

  std::vector<step> steps_;
  std::uint32_t blocks_;
  plan_purpose purpose_;
  topology_settings origin_;
};

template <class Topology, class Op>
plan(Topology, Op, rank_type, rank_type) -> plan<Topology::keeps_rank_order, Topology::sends_raw_contributions>;

}  // namespace tutti

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/topology/planned.ipp>
#endif
