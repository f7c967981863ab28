// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/topology/tree.hpp>

namespace tutti::inline v0_1_0::detail::inline topology {

/// The schedule of send and recv: one message from one rank to another. All other ranks have no steps.
struct edge {
  static constexpr std::string_view name = "edge";
  static constexpr bool keeps_rank_order = true;
  static constexpr bool sends_raw_contributions = true;

  [[nodiscard]] constexpr std::uint32_t blocks(op::transfer, rank_type) const { return 1; }
  [[nodiscard]] constexpr std::uint32_t steps(op::transfer o, rank_type, rank_type me) const {
    return me == o.sender || me == o.receiver ? 1 : 0;
  }
  [[nodiscard]] constexpr step at(op::transfer o, rank_type, rank_type me, std::uint32_t) const {
    if (o.sender == o.receiver) {
      return copy_own_block(0);
    }
    return me == o.sender ? step{.send = {o.receiver, memory::input, {0, 1}}}
                          : step{.receive = {o.sender, memory::output, {0, 1}}, .sender_memory = memory::input};
  }
};

}  // namespace tutti::detail::topology
