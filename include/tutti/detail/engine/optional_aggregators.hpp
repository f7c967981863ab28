// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/topology.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tutti::inline v0_1_0::detail::inline engine {

/// Wraps a topology with in-network aggregators for reductions that are known at run time: each operation runs its
/// schedule, or that without aggregators if no device can do the reduction.
template <tutti::topology Inner>
class optional_aggregators {
  using substitute_type = decltype(std::declval<Inner const&>().without_aggregators());

 public:
  using schedule = optional_aggregators;
  static constexpr std::string_view name = Inner::name;
  static constexpr bool keeps_rank_order = Inner::keeps_rank_order && substitute_type::keeps_rank_order;
  static constexpr bool sends_raw_contributions = false;

  constexpr explicit optional_aggregators(Inner const& inner)
      : inner_(inner), substitute_(inner.without_aggregators()) {}

  template <class Op>
  [[nodiscard]] constexpr schedule_choice<optional_aggregators> choose(Op const&, std::size_t,
                                                                       schedule_requirements needs) const {
    schedule_choice<optional_aggregators> choice{*this};
    choice.topology.aggregates_ = needs.may_aggregate;
    return choice;
  }

  /// The settings of the schedule; those of a topology without settings change no call.
  [[nodiscard]] constexpr topology_settings settings(rank_type n) const {
    return visit([n](auto const& t) {
      topology_settings s;
      if constexpr (has_settings<std::remove_cvref_t<decltype(t)>>) {
        s = t.settings(n);
      } else {
        s.set_label(name);
      }
      return s;
    });
  }
  template <class Op>
  [[nodiscard]] constexpr bool combines_in_rank_order(rank_type n) const {
    return visit([n](auto const& t) { return tutti::combines_in_rank_order<Op>(t, n); });
  }
  [[nodiscard]] constexpr substitute_type without_aggregators() const { return substitute_; }
  template <class Op>
    requires has_aggregators<Inner, Op>
  [[nodiscard]] constexpr rank_type aggregators(Op const& op, rank_type n) const {
    return visit([&](auto const& t) { return members(t, op, n) - n; });
  }

  template <class Op>
    requires has_aggregators<Inner, Op>
  [[nodiscard]] constexpr std::uint32_t blocks(Op const& op, rank_type n) const {
    return visit([&](auto const& t) { return t.blocks(op, n); });
  }
  template <class Op>
    requires has_aggregators<Inner, Op>
  [[nodiscard]] constexpr std::uint32_t steps(Op const& op, rank_type n, rank_type me) const {
    return visit([&](auto const& t) { return t.steps(op, n, me); });
  }
  template <class Op>
    requires has_aggregators<Inner, Op>
  [[nodiscard]] constexpr step at(Op const& op, rank_type n, rank_type me, std::uint32_t i) const {
    return visit([&](auto const& t) { return t.at(op, n, me, i); });
  }

 private:
  template <class F>
  constexpr auto visit(F const& f) const {
    return aggregates_ ? f(inner_) : f(substitute_);
  }

  [[no_unique_address]] Inner inner_;
  [[no_unique_address]] substitute_type substitute_;
  bool aggregates_ = false;
};

}  // namespace tutti::detail::engine
