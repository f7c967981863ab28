// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/moving_operators.hpp>
#include <laws/reducing_operators.hpp>
#include <tutti/topology/planned.hpp>
#include <tutti/topology/selection.hpp>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace laws {

/// Topologies that are known when the program runs: any selection, over hosts of any sizes wherever they are, and plans
/// of it. What is tried is drawn from a seed, alike on all ranks: operation, root, length, segments, reduction.
template <class World>
class chosen {
 public:
  chosen(World& world, std::uint64_t seed)
      : world_(world),
        draw_(seed),
        hosts_(draw_hosts()),
        picked_(tutti::all_schedule_kinds[any(tutti::all_schedule_kinds.size())], &hosts_),
        count_(any(4) == 0 ? any(4 * world.size()) : any(1500)),
        segment_(any(2) * 96),
        root_(static_cast<rank_type>(any(world.size()))),
        plans_(any(2) == 0) {}

  /// What is wrong with one operation, or nothing.
  [[nodiscard]] std::string check() {
    std::string const complaint = one_operation();
    return complaint.empty() ? "" : std::string(name(picked_.kind())) + (plans_ ? ", planned: " : ": ") + complaint;
  }

 private:
  [[nodiscard]] std::size_t any(std::size_t below) { return draw_() % below; }

  [[nodiscard]] tutti::host_map draw_hosts() {
    std::vector<std::size_t> host_of(world_.size());
    std::size_t const hosts = 1 + any(world_.size());
    for (auto& host : host_of) {
      host = any(hosts);
    }
    if (any(2) == 0) {
      std::sort(host_of.begin(), host_of.end());
    }
    return tutti::host_map(host_of);
  }

  [[nodiscard]] std::string one_operation() {
    namespace op = tutti::op;
    auto const all = [this](auto r) {
      return reducing(op::allreduce{}, r, [&](auto t) { return laws::allreduce(world_, t, r, count_, segment_); });
    };
    auto const rooted = [this](auto r) {
      return reducing(op::reduce{root_}, r,
                      [&](auto t) { return laws::reduce(world_, t, r, count_, segment_, root_); });
    };
    auto const scattered = [this](auto r) {
      return reducing(op::reduce_scatter{}, r,
                      [&](auto t) { return laws::reduce_scatter(world_, t, r, count_, segment_); });
    };
    switch (any(8)) {
      case 0:
        return with_any_reduction(all);
      case 1:
        return with_any_reduction(rooted);
      case 2:
        return with_any_reduction(scattered);
      case 3:
        return moving(op::broadcast{root_},
                      [&](auto t) { return laws::broadcast<triple>(world_, t, count_, segment_, root_); });
      case 4:
        return moving(op::gather{root_},
                      [&](auto t) { return laws::gather<triple>(world_, t, count_, segment_, root_); });
      case 5:
        return moving(op::scatter{root_},
                      [&](auto t) { return laws::scatter<triple>(world_, t, count_, segment_, root_); });
      case 6:
        return moving(op::allgather{}, [&](auto t) { return laws::allgather<triple>(world_, t, count_, segment_); });
      default:
        return moving(op::alltoall{},
                      [&](auto t) { return laws::alltoall<triple>(world_, t, count_ / world_.size(), segment_); });
    }
  }

  template <class Law>
  [[nodiscard]] std::string with_any_reduction(Law law) {
    switch (any(3)) {
      case 0:
        return law(tutti::sum<float>{});
      case 1:
        return law(composition{});
      default:
        return law(wide_mean{});
    }
  }

  /// What is not in order is refused to what needs it, before anything is sent.
  template <class Op, class R, class Law>
  [[nodiscard]] std::string reducing(Op const& o, R, Law law) {
    bool const possible = R::commutative || picked_.combines_in_order<Op>(world_.size());
    try {
      std::string const complaint = over<!R::commutative>(o, law);
      return possible ? complaint : "combines out of rank order what does not commute";
    } catch (tutti::precondition_error const& refusal) {
      return possible ? std::string("refuses: ") + refusal.what() : "";
    }
  }
  template <class Op, class Law>
  [[nodiscard]] std::string moving(Op const& o, Law law) {
    return over<false>(o, law);
  }

  template <bool InOrder, class Op, class Law>
  [[nodiscard]] std::string over(Op const& o, Law law) {
    if (!plans_) {
      return law(picked_);
    }
    tutti::plan<InOrder> const steps(picked_, o, world_.size(), world_.rank());
    return law(steps.view());
  }

  World& world_;
  std::mt19937_64 draw_;
  tutti::host_map hosts_;
  tutti::selection picked_;
  std::size_t count_;
  std::size_t segment_;
  rank_type root_;
  bool plans_;
};

}  // namespace laws
