// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/kinship.hpp>
#include <tutti/extend/counted.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/types.hpp>

#include <cstdint>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline communicator {

struct rank_state;  // whose header defines the members of `relative`

/// The place of a communicator among the communicators of this rank that were split or duplicated from one another.
///
/// A fault of one is no fault of the others. But a rank that leaves because of it is missed in all of them, and is not
/// at fault there either. So the rank notes the fault in each of them, in the numbers of that one, as its reason to
/// leave; and tells it as it leaves, unless it has started another operation there since, so that it leaves for a
/// reason of its own.
///
/// Thread safety: the communicators may be used by different threads.
class relative {
 public:
  /// @param here the communicator; it outlives this, and so does its transport
  /// @param whole the communicator that it is a part of; null: it is a world
  TUTTI_DECL relative(rank_state& here, rank_state const* whole);
  relative(relative const&) = delete;
  relative& operator=(relative const&) = delete;
  TUTTI_DECL ~relative();

  /// Notes a fault of this communicator as a reason to leave the others.
  TUTTI_DECL void tell(tutti::fault const& why) noexcept;
  /// The fault because of which this rank leaves this communicator; none if it has gone on since, or knows of none.
  [[nodiscard]] TUTTI_DECL tutti::fault reason_to_leave() const noexcept;

  /// The value that the communicators of one world have in common. @pre T is always the same
  template <class T>
  [[nodiscard]] T& common() const {
    return kinship_.common<T>();
  }

 private:
  class family;

  [[nodiscard]] rank_type in_world(rank_type r) const noexcept {
    return r == no_rank || in_world_.empty() ? r : in_world_[r];
  }
  [[nodiscard]] TUTTI_DECL rank_type from_world(rank_type r) const noexcept;
  [[nodiscard]] TUTTI_DECL tutti::fault translated(tutti::fault const& why, relative const& from) const noexcept;

  rank_state& here_;
  counted<family> family_;
  kinship kinship_;
  std::vector<rank_type> in_world_;  ///< the number in the world of each rank; empty: the same as here
  relative* next_ = nullptr;
  tutti::fault reason_{};       ///< under the lock of the family, as the next
  std::uint64_t noted_at_ = 0;  ///< the number of operations of this communicator that had been started then
};

}  // namespace tutti::detail::communicator
