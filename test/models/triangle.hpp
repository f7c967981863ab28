// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/topology/star.hpp>

namespace models {

using tutti::action;
using tutti::memory;
using tutti::rank_type;
using tutti::step;

/// Three ranks. Ranks 0 and 2 compute the sum themselves; rank 1 sends its vector to both and gets the result from
/// rank 0, which does not depend on rank 2 having read its copy. So a write can overtake a reader in this schedule,
/// unless the engine waits. With another number of ranks it is a star.
struct triangle : tutti::star {
  static constexpr std::string_view name = "triangle";
  static constexpr bool keeps_rank_order = false;

  [[nodiscard]] constexpr std::uint32_t blocks(tutti::op::allreduce o, rank_type n) const {
    return tutti::star::blocks(o, n);
  }
  [[nodiscard]] constexpr std::uint32_t steps(tutti::op::allreduce o, rank_type n, rank_type me) const {
    return n != 3 ? tutti::star::steps(o, n, me) : me == 2 ? 2 : 3;
  }
  [[nodiscard]] constexpr step at(tutti::op::allreduce o, rank_type n, rank_type me, std::uint32_t i) const {
    constexpr tutti::block_range whole{0, 1};
    if (n != 3) {
      return tutti::star::at(o, n, me, i);
    }
    if (me == 1) {
      return i < 2 ? step{.send = {i == 0 ? 0U : 2U, memory::input, whole}}
                   : step{.receive = {0, memory::output, whole}, .sender_memory = memory::output};
    }
    if (i == 0) {
      rank_type const other = 2 - me;
      return {.send = {other, memory::input, whole},
              .receive = {other, memory::work, whole},
              .action = me == 0 ? action::fold_right : action::fold_left,
              .local_memory = memory::input,
              .sender_memory = memory::input};
    }
    if (i == 1) {
      return {.receive = {1, memory::output, whole}, .action = action::fold_right, .sender_memory = memory::input};
    }
    return {.send = {1, memory::output, whole}};
  }
};

}  // namespace models
