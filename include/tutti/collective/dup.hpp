// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/split.hpp>

namespace tutti::inline v0_1_0 {

/// Duplicates a communicator: the same ranks in the same order, with a transport of its own, so that operations on one
/// neither delay nor match those on the other. For a library, or a thread, that communicates on its own.
///
///     auto mine = tutti::dup(world);
///
/// Collective over the parent.
///
/// @pre every rank of the parent calls it at the same point in its sequence of operations
/// @throws error like `split`
///
/// Cost: as `split`.
/// Thread safety: as the parent.
template <class Transport, rank_type N, class Trace>
[[nodiscard]] communicator<Transport, N, Trace> dup(communicator<Transport, N, Trace>& parent) {
  auto meet = detail::choose_sides(parent, 0, parent.rank());
  return communicator<Transport, N, Trace>(meet, parent.settings());
}

}  // namespace tutti
