// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/topology/concept.hpp>

#include <span>
#include <vector>

namespace tutti {

/// One rank's schedule of one operation, flattened: a view of a plan's steps. A topology itself,
/// which answers for that operation and that rank, whatever it is asked. Topologies that are chosen
/// at run time all become this one type, so that instantiations do not multiply.
///
/// @pre the plan outlives it
template <bool KeepsOrder, bool SendsRaw = false>
class planned {
 public:
  static constexpr std::string_view name = "planned";
  static constexpr bool keeps_order = KeepsOrder;
  static constexpr bool sends_raw_contributions = SendsRaw;

  constexpr planned(std::span<step const> steps, std::uint32_t blocks) noexcept : steps_(steps), blocks_(blocks) {}

  template <class Op>
  [[nodiscard]] constexpr std::uint32_t blocks(Op, rank_type) const noexcept {
    return blocks_;
  }
  template <class Op>
  [[nodiscard]] constexpr std::uint32_t steps(Op, rank_type, rank_type) const noexcept {
    return static_cast<std::uint32_t>(steps_.size());
  }
  template <class Op>
  [[nodiscard]] constexpr step at(Op, rank_type, rank_type, std::uint32_t i) const noexcept {
    return steps_[i];
  }

 private:
  std::span<step const> steps_;
  std::uint32_t blocks_;
};

/// Owns the steps of one rank: `plan p(topology, op, n, me)`. Allocates once, when it is made. It may
/// be used as the topology itself, or hand out a view that is cheap to copy.
template <bool KeepsOrder, bool SendsRaw = false>
class plan {
 public:
  static constexpr std::string_view name = "planned";
  static constexpr bool keeps_order = KeepsOrder;
  static constexpr bool sends_raw_contributions = SendsRaw;

  template <class Topology, class Op>
    requires offers<Topology, Op>
  constexpr plan(Topology const& topology, Op op, rank_type n, rank_type me) : blocks_(topology.blocks(op, n)) {
    const std::uint32_t count = topology.steps(op, n, me);
    steps_.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      steps_.push_back(topology.at(op, n, me, i));
    }
  }

  [[nodiscard]] constexpr planned<KeepsOrder, SendsRaw> view() const noexcept { return {steps_, blocks_}; }

  template <class Op>
  [[nodiscard]] constexpr std::uint32_t blocks(Op, rank_type) const noexcept {
    return blocks_;
  }
  template <class Op>
  [[nodiscard]] constexpr std::uint32_t steps(Op, rank_type, rank_type) const noexcept {
    return static_cast<std::uint32_t>(steps_.size());
  }
  template <class Op>
  [[nodiscard]] constexpr step at(Op, rank_type, rank_type, std::uint32_t i) const noexcept {
    return steps_[i];
  }

 private:
  std::vector<step> steps_;
  std::uint32_t blocks_;
};

template <class Topology, class Op>
plan(Topology, Op, rank_type, rank_type) -> plan<Topology::keeps_order, Topology::sends_raw_contributions>;

}  // namespace tutti
