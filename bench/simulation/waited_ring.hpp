// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/topology/ring.hpp>

#include <cstdint>
#include <string_view>

namespace bench {

/// The ring of a program that waits for each send before it receives: every hop is two steps. Even ranks send first
/// and odd ones receive first; if all sent first, all would wait.
///
/// Offers: allreduce.
struct waited_ring {
  static constexpr std::string_view name = "waited_ring";
  static constexpr bool keeps_rank_order = false;
  static constexpr bool sends_raw_contributions = false;

  [[nodiscard]] constexpr std::uint32_t blocks(tutti::op::allreduce, tutti::rank_type n) const { return n; }
  [[nodiscard]] constexpr std::uint32_t steps(tutti::op::allreduce operation, tutti::rank_type n,
                                              tutti::rank_type me) const {
    return n == 1 ? 1 : 2 * tutti::ring{}.steps(operation, n, me);
  }
  [[nodiscard]] constexpr tutti::step at(tutti::op::allreduce operation, tutti::rank_type n, tutti::rank_type me,
                                         std::uint32_t i) const {
    tutti::step s = tutti::ring{}.at(operation, n, me, n == 1 ? 0 : i / 2);
    if (n != 1 && i % 2 == me % 2) {
      s.receive = {};
    } else if (n != 1) {
      s.send = {};
    }
    return s;
  }
};

}  // namespace bench
