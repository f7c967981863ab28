// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/communicator/family.hpp>
#include <tutti/detail/core/world_local.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/intrusive_pointer.hpp>
#include <tutti/extend/types.hpp>

#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline communicator {

struct rank_state;  // its header defines the members of `relative`

/// The entry of a communicator among the communicators of this rank that were split or duplicated from one world.
///
/// A fault of one is no fault of the others. But a rank that leaves because of it is missed in all of them, without
/// being at fault there. So the rank notes the fault in each of them, in its numbers, as the reason to leave, and tells
/// it when it leaves. A reason lapses when another operation is started on that communicator.
///
/// An abort of one is an abort of all: of the world. Each rank that notices it in one of its communicators ends the
/// others. Memory that a transport shares has the fault at once. The other ranks are told by the thread that uses the
/// communicator, in its next call or at the next step of a wait; or, if no thread uses it, by the thread that notices
/// the abort. A thread that waits on one communicator also serves relatives that no thread uses, so an abort reaches it
/// through any of them.
///
/// Thread safety: different threads may use the communicators.
class relative {
 public:
  /// Enters the communicator: its maker leaves it once it is complete.
  /// @param state the communicator; it and its transport outlive this
  /// @param whole the communicator that it is a part of; null for a world
  TUTTI_DECL relative(rank_state& state, rank_state const* whole);
  relative(relative const&) = delete;
  relative& operator=(relative const&) = delete;
  TUTTI_DECL ~relative();

  /// Notes a fault of this communicator as a reason to leave the others. An abort ends them. Called by the thread that
  /// uses or serves the communicator.
  TUTTI_DECL void tell(tutti::fault const& cause) noexcept;
  /// The fault that makes this rank leave the communicator; empty if there is none, or if an operation was started
  /// since.
  [[nodiscard]] TUTTI_DECL tutti::fault reason_to_leave() const noexcept;

  /// The family, for an abort.
  [[nodiscard]] intrusive_pointer<family> const& get_family() const noexcept { return family_; }
  /// Ends the world, as this rank wants it. Any thread may call it.
  TUTTI_DECL void abort(std::string_view reason) noexcept;
  /// True if the world was aborted.
  [[nodiscard]] TUTTI_DECL bool is_aborted() const noexcept;
  /// Ends the world if this is the fault of an abort.
  TUTTI_DECL void note_abort(tutti::fault const& cause) noexcept;
  /// Revokes the epoch because of an abort. Called by the thread that uses the communicator.
  TUTTI_DECL void carry_out_abort() noexcept;
  /// Serves the communicators that no thread uses, and ends the world if a peer has aborted it.
  TUTTI_DECL void look_for_abort() noexcept;

  /// The value shared by all communicators of one world. @pre T is always one type
  template <class T>
  [[nodiscard]] T& common() const {
    return world_local_.common<T>();
  }

 private:
  friend class family;

  /// Lets memory that the transport shares have the fault at once, and the communicator's thread tell all other ranks.
  /// Async-signal-safe; any thread may call it.
  TUTTI_DECL void end_soon(tutti::fault const& cause_in_world) noexcept;
  /// Tells the peers in communicators that no thread uses, if the world was aborted. The first call waits until they
  /// are told, for 100 ms at most.
  TUTTI_DECL void spread_abort() noexcept;
  [[nodiscard]] rank_type in_world(rank_type r) const noexcept {
    return r == no_rank || in_world_.empty() ? r : in_world_[r];
  }
  [[nodiscard]] TUTTI_DECL rank_type from_world(rank_type r) const noexcept;
  [[nodiscard]] TUTTI_DECL tutti::fault translate(tutti::fault const& cause, relative const& origin) const noexcept;

  rank_state& state_;
  intrusive_pointer<family> family_;
  world_local world_local_;
  std::vector<rank_type> in_world_;  ///< number in the world, by rank; empty: identical
  std::atomic<relative*> next_{nullptr};
  tutti::fault reason_{};       ///< guarded by the family's lock, like noted_at_
  std::uint64_t noted_at_ = 0;  ///< operations started here before reason_ was noted
};

}  // namespace tutti::detail::communicator
