// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/engine/helper_share.hpp>
#include <tutti/extend/topology.hpp>

#include <span>

namespace tutti::inline v0_1_0::detail::inline engine {

/// A schedule as the engine asks for it: one pointer for each step, so that the engine is compiled once for all
/// topologies and operations.
struct schedule_view {
  void (*step_at)(void const* of, rank_type n, rank_type me, std::uint32_t i, step& to);
  void const* of;
  bool blocks_have_owners;
  std::uint32_t steps = 0;   ///< of this rank
  std::uint32_t blocks = 1;  ///< that the vector is cut into
  /// `first` is step 0, as long as the schedule stays as it is: short operations have no other.
  bool first_known = false;
  step first{};
  /// What this rank does with each helper, those first that have the lowest numbers.
  std::span<helper_share const> helpers{};
};

}  // namespace tutti::detail::engine
