// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/split.hpp>

namespace tutti::inline v0_1_0 {

/// A communicator of the same ranks, in the same order, with a transport of its own: what happens on one neither
/// delays the other nor is taken for it. For a library that communicates on its own, or a thread that does.
///
///     auto mine = tutti::dup(world);
///
/// Collective over the parent.
///
/// @pre every rank of the parent calls it in the same place among its operations
/// @throws error as `split`
///
/// Cost: that of `split`.
/// Thread safety: that of the parent.
template <class Transport, rank_type N, class Trace>
[[nodiscard]] communicator<Transport, N, Trace> dup(communicator<Transport, N, Trace>& parent) {
  auto meet = detail::choose_sides(parent, 0, parent.rank());
  return communicator<Transport, N, Trace>(meet, parent.settings());
}

}  // namespace tutti
