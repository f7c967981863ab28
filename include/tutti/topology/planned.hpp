// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/verify/contents.hpp>
#include <tutti/extend/expects.hpp>

#include <span>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0 {

/// What a plan is a plan of.
struct plan_purpose {
  operation_kind kind = operation_kind::none;  ///< which operation
  rank_type root = no_rank;                    ///< its root; no_rank: none
  rank_type ranks = 0;                         ///< the number of ranks
  rank_type me = no_rank;                      ///< the rank whose schedule it is

  /// Of this operation, for rank me of n.
  template <class Op>
  [[nodiscard]] static constexpr plan_purpose of(Op const& o, rank_type n, rank_type me) noexcept {
    plan_purpose p{detail::verify::kind_of<Op>, no_rank, n, me};
    if constexpr (requires { o.root; }) {
      p.root = o.root;
    }
    return p;
  }
  friend constexpr bool operator==(plan_purpose const&, plan_purpose const&) = default;
};

/// "broadcast, root 1, by rank 0 of 3".
[[nodiscard]] TUTTI_DECL std::string describe(plan_purpose const& p);

namespace detail {
/// @throws precondition_error: a plan is of one thing, and was asked for another
[[noreturn]] TUTTI_DECL void refuse_plan(plan_purpose const& of, topology_settings const& made_of,
                                         plan_purpose const& asked);
}  // namespace detail

/// One rank's schedule of one operation, flattened: a view of a plan's steps. A topology, which answers for that
/// operation, root and rank, and refuses to for others. Topologies that are chosen at run time all become this one
/// type, so that instantiations do not multiply. What a plan was made of is part of the call.
///
/// Offers: the operation that the plan is of.
/// Order: as the topology of which the plan was made.
/// Cost: that of the topology of which the plan was made.
/// Source: that of the topology of which the plan was made.
///
/// @pre the plan outlives it
template <bool KeepsOrder, bool SendsRaw = false>
class planned {
 public:
  /// The name of the topology in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = "planned";
  /// True if reductions combine in rank order in every operation, as those that do not commute need.
  static constexpr bool keeps_order = KeepsOrder;
  /// True if only `input` is ever sent to be folded, and no partial sums.
  static constexpr bool sends_raw_contributions = SendsRaw;

  /// Over steps that must last; see `plan`.
  constexpr planned(std::span<step const> steps, std::uint32_t blocks, plan_purpose const& purpose,
                    topology_settings const& made_of) noexcept
      : steps_(steps), blocks_(blocks), purpose_(purpose), made_of_(made_of) {}

  /// The arguments of the topology, which must be alike on all ranks.
  [[nodiscard]] constexpr topology_settings settings(rank_type) const noexcept { return made_of_; }

  /// @throws precondition_error if it is a plan of something else
  template <class Op>
  [[nodiscard]] constexpr std::uint32_t blocks(Op const& o, rank_type n) const {
    expect(plan_purpose::of(o, n, purpose_.me));
    return blocks_;
  }
  /// @throws precondition_error if it is a plan of something else
  template <class Op>
  [[nodiscard]] constexpr std::uint32_t steps(Op const& o, rank_type n, rank_type me) const {
    expect(plan_purpose::of(o, n, me));
    return static_cast<std::uint32_t>(steps_.size());
  }
  /// Step i of rank me, of n ranks, in closed form: steps may be asked for in any order.
  template <class Op>
  [[nodiscard]] constexpr step at(Op const&, rank_type, rank_type, std::uint32_t i) const noexcept {
    return steps_[i];
  }

 private:
  constexpr void expect(plan_purpose const& asked) const {
    if (asked != purpose_) [[unlikely]] {
      detail::refuse_plan(purpose_, made_of_, asked);
    }
  }

  std::span<step const> steps_;
  std::uint32_t blocks_;
  plan_purpose purpose_;
  topology_settings made_of_;
};

/// Owns the steps of one rank: `plan p(topology, op, n, me)`; `p.view()` is the topology. Allocates once, when it is
/// made.
template <bool KeepsOrder, bool SendsRaw = false>
class plan {
 public:
  /// The steps are those of ranks: of a topology with helpers, what it runs without them.
  /// @throws precondition_error if the plan shall keep rank order, and the topology does not in this operation
  template <identifiable Topology, class Op>
    requires offers<Topology, Op> && (!std::same_as<Op, op::transfer>) &&
             (!KeepsOrder || detail::ranks_alone_t<Op, Topology>::keeps_order || tells_order<Topology, Op>) &&
             (!SendsRaw || detail::ranks_alone_t<Op, Topology>::sends_raw_contributions)
  constexpr plan(Topology const& topology, Op op, rank_type n, rank_type me)
      : plan(of_ranks{}, detail::ranks_alone<Op>(topology), op, n, me) {}

  /// The topology that runs this plan, which must last.
  [[nodiscard]] constexpr planned<KeepsOrder, SendsRaw> view() const noexcept {
    return {steps_, blocks_, purpose_, made_of_};
  }

 private:
  struct of_ranks {};
  template <class Topology, class Op>
  constexpr plan(of_ranks, Topology const& topology, Op op, rank_type n, rank_type me)
      : blocks_(topology.blocks(op, n)), purpose_(plan_purpose::of(op, n, me)), made_of_(identity_of(topology, n)) {
    expects(!KeepsOrder || combines_in_order<Op>(topology, n),
            "plan<true> is of schedules that combine in rank order, and the topology that was picked does not in "
            "this operation: take another one, or plan<false>");
    std::uint32_t const count = topology.steps(op, n, me);
    steps_.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      steps_.push_back(topology.at(op, n, me, i));
    }
  }

  std::vector<step> steps_;
  std::uint32_t blocks_;
  plan_purpose purpose_;
  topology_settings made_of_;
};

template <class Topology, class Op>
plan(Topology, Op, rank_type, rank_type) -> plan<Topology::keeps_order, Topology::sends_raw_contributions>;

}  // namespace tutti

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/topology/planned.ipp>
#endif
