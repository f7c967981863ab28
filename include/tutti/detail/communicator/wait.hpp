// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/time.hpp>

#include <cstdint>

namespace tutti::inline v0_1_0::detail::inline communicator {

struct rank_state;

/// How often a rank that waits looks for peers that are gone.
inline constexpr duration between_looks = std::chrono::milliseconds(10);

/// What the messages of a round may take that a peer answers at once.
inline constexpr duration longest_spin = std::chrono::microseconds(100);

/// How a wait ended.
enum class waited { done, limit, fault };

/// What is waited for, as pointers: a wait is compiled once, for all of them.
struct wait_target {
  void* of;
  bool (*advance)(void*);                      ///< moves it on; true when the wait is over
  void (*inquire)(void*);                      ///< called now and then; may find out that waiting is in vain
  std::uint64_t (*progress)(void*) = nullptr;  ///< changes while it moves and this rank had better stay awake
  bool outlasts_faults = false;                ///< a fault of the epoch does not end the wait
};

/// Spins for as long as a message takes, and on while `progress` changes: a rank that falls asleep in the middle of a
/// long operation is woken for each of its messages, at the price of a system call of the peer that sends it. But
/// hardly longer than `limit`, nor than looks for peers that are gone may be apart. True if `advance` said so.
TUTTI_DECL bool wait_spinning(rank_state& world, wait_target const& what, duration limit);

/// Lets others have their turns on this core, for as long as those are short. True if `advance` said so.
TUTTI_DECL bool wait_yielding(rank_state& world, wait_target const& what, bool has_spun);

/// The part of a wait in which a system call is nothing: naps, and now and then a look for dead peers on all
/// communicators on which this thread has started operations.
TUTTI_DECL waited wait_in_naps(rank_state& world, wait_target const& what, duration limit);

/// Calls `advance` until it says true: awake at first, then asleep.
/// Everything else that this thread has started moves on meanwhile, on whatever communicator.
///
/// A thread that is cancelled (pthread_cancel) ends between naps.
/// Returns early when `limit` has passed or when the epoch has failed. Now and then it looks for dead peers and calls
/// `inquire`. A transport that waits by itself is left to it from the start.
TUTTI_DECL waited wait(rank_state& world, wait_target const& what, duration limit);

}  // namespace tutti::detail::communicator

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/communicator/wait.ipp>
#endif
