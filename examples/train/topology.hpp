// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/automatic.hpp>
#include <tutti/topology/selection.hpp>

#include <cstddef>
#include <optional>
#include <utility>

/// The topology that the options name: `automatic`, or one schedule for all vectors. One type for both, so that each
/// strategy is compiled once for a transport.
class named_topology : public tutti::selection {
 public:
  /// One type for all schedules.
  using schedule = tutti::selection;

  explicit named_topology(tutti::automatic picks) : picks_(std::move(picks)) {}
  explicit named_topology(tutti::selection choice) noexcept : selection(choice) {}

  /// `automatic`, or null for one schedule.
  [[nodiscard]] tutti::automatic const* picks() const noexcept { return picks_ ? &*picks_ : nullptr; }
  /// The topology for an operation that no in-network aggregator can do.
  [[nodiscard]] named_topology without_aggregators() const {
    return picks_ ? *this : named_topology(selection::without_aggregators());
  }
  /// The schedule, and the segments, for an operation of this many bytes; alike on all ranks.
  template <class Op>
  [[nodiscard]] tutti::schedule_choice<tutti::selection> choose(Op op, std::size_t bytes,
                                                                tutti::schedule_requirements needs = {}) const {
    return picks_ ? picks_->choose(op, bytes, needs) : tutti::schedule_choice<tutti::selection>{*this, 0};
  }

 private:
  std::optional<tutti::automatic> picks_;
};
