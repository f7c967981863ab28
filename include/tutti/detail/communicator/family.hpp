// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/fork_guard.hpp>
#include <tutti/detail/core/monitor.hpp>
#include <tutti/extend/fault.hpp>
#include <tutti/extend/types.hpp>

#include <atomic>
#include <cstdint>
#include <string_view>

namespace tutti::inline v0_1_0::detail::inline communicator {

class relative;

/// The communicators of this rank that were split or duplicated from one world, as a list, and an abort of that world.
/// Lives as long as one of them or an abort_handle.
class family {
 public:
  /// @param rank the number of this rank in the world
  explicit family(rank_type rank) noexcept : rank_(rank) {}
  family(family const&) = delete;
  family& operator=(family const&) = delete;

  void add_reference() noexcept { holders_.fetch_add(1, std::memory_order_relaxed); }
  void drop_reference() noexcept {
    if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete this;
    }
  }

  /// Ends the world, as this rank wants it. Does nothing if it is aborted already, or in a forked child.
  /// Async-signal-safe; any thread may call it.
  void abort(std::string_view reason) noexcept { abort(rank_, reason); }

 private:
  friend class relative;

  ~family() = default;

  /// Ends the world, as a rank of it wants it: `rank` is its number in the world.
  TUTTI_DECL void abort(rank_type rank, std::string_view reason) noexcept;
  /// Calls `f` with each communicator. None is destroyed meanwhile. Async-signal-safe if `f` is.
  template <class F>
  void for_each(F f) noexcept;
  TUTTI_DECL void add(relative& member) noexcept;
  /// Removes a communicator. Afterwards no other thread is about to use it.
  TUTTI_DECL void remove(relative& member) noexcept;

  monitor lock_;  ///< guards changes of the list, and the reasons to leave
  std::atomic<relative*> first_{nullptr};
  std::atomic<std::uint32_t> walkers_{0};  ///< walks through the list that are under way
  std::atomic<bool> has_cause_{false};     ///< the cause is written or about to be
  std::atomic<bool> is_aborted_{false};    ///< the cause is written
  std::atomic<bool> is_spread_{false};     ///< a thread has begun to tell peers of all communicators
  tutti::fault cause_{};                   ///< in numbers of the world
  std::atomic<std::uint32_t> holders_{1};
  rank_type rank_;
  std::uint32_t fork_generation_ = fork_guard::generation();
};

}  // namespace tutti::detail::communicator

// A walk uses members of `relative`, whose definitions that header includes.
#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/communicator/rank_state.hpp>
#endif
