// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/time.hpp>

#include <cstdint>

namespace tutti::inline v0_1_0::detail::inline communicator {

struct rank_state;

/// Time between two looks for failed peers while waiting.
inline constexpr duration between_looks = std::chrono::milliseconds(10);

/// Time within which a peer's immediate answer arrives.
inline constexpr duration longest_spin = std::chrono::microseconds(100);

/// The outcome of a wait.
enum class wait_outcome { complete, limit, fault };

/// The target of a wait, with its type erased: waiting is compiled once for all targets.
struct wait_target {
  void* object;
  bool (*advance)(void*);                      ///< makes progress; true when the wait is over
  void (*detect_mismatch)(void*);              ///< called every few milliseconds; may detect that waiting is useless
  std::uint64_t (*progress)(void*) = nullptr;  ///< changes while progress makes staying awake worthwhile
  bool outlasts_faults = false;                ///< a fault of the epoch does not end the wait
};

/// Spins for as long as a message takes, and longer while `progress` changes: a rank that sleeps during a long
/// operation is woken for each message, which costs the sender a system call. Never spins much longer than `limit` or
/// `between_looks`. Returns true if `advance` did.
TUTTI_DECL bool wait_spinning(rank_state& state, wait_target const& target, duration limit);

/// Yields the core to others, as long as their turns are short. Returns true if `advance` did.
TUTTI_DECL bool wait_yielding(rank_state& state, wait_target const& target, bool has_spun);

/// The part of a wait in which the cost of a system call does not matter: naps, with a look for failed peers every few
/// milliseconds on all communicators on which this thread has started operations.
TUTTI_DECL wait_outcome wait_in_naps(rank_state& state, wait_target const& target, duration limit);

/// Calls `advance` until it returns true: awake at first, then asleep. All operations that this thread has started, on
/// any communicator, progress meanwhile.
///
/// Ends between naps if the thread is cancelled (pthread_cancel). Returns early when `limit` has passed or the epoch
/// has failed. Looks for failed peers and calls `detect_mismatch` every few milliseconds. A transport that waits by
/// itself does so from the start.
/// @throws the exceptions of `target` and of the transport
TUTTI_DECL wait_outcome wait(rank_state& state, wait_target const& target, duration limit);

}  // namespace tutti::detail::communicator

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/communicator/wait.ipp>
#endif
