// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/doorway.hpp>
#include <tutti/detail/core/owner.hpp>
#include <tutti/environment.hpp>
#include <tutti/extend/types.hpp>

namespace tutti::inline v0_1_0 {

namespace detail {
struct door_access;
}

/// The place where processes wait to enter a running world (`enter`), as its members see it. It is the folder of
/// TUTTI_STORE=file:PATH, or the ports of TUTTI_HOSTS, and belongs to one job, TUTTI_JOB. It outlives every member.
///
///     tutti::door door;
///     if (is_epoch_over && door.waiting() != 0) { ... }  // the members agree, and call detector.grow(door)
///
/// Cost: a listing of the folder, and a read of each file, for each look; or a listening socket, and a connection for
/// each process that waits.
/// Thread safety: one thread at a time.
class door {
 public:
  /// @throws error (failure::join) if the environment names no place or no job
  explicit door(environment const& settings = read_environment()) : place_(detail::make_doorway(settings)) {}

  /// The number of processes that wait, as far as this rank knows. Waits for nothing. Over TUTTI_HOSTS, ranks begin to
  /// listen at their first call.
  /// @throws error (failure::join) if the place cannot be used
  [[nodiscard]] rank_type waiting() { return static_cast<rank_type>(place_->look().size()); }

 private:
  friend struct detail::door_access;

  detail::owner<detail::doorway> place_;
};

namespace detail {

/// Gives a failure detector the place of a door.
struct door_access {
  [[nodiscard]] static doorway& place_of(door& entry) noexcept { return *entry.place_; }
};

}  // namespace detail

}  // namespace tutti
