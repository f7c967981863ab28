// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/communicator/rank_state.hpp>
#include <tutti/detail/communicator/wait.hpp>
#include <tutti/detail/core/cancellation.hpp>
#include <tutti/detail/core/progress_list.hpp>

#include <cerrno>
#include <poll.h>
#include <sched.h>

namespace tutti::inline v0_1_0::detail::inline communicator {

/// Tells the processor that this is a waiting loop.
inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

TUTTI_DECL bool wait_spinning(rank_state& state, wait_target const& target, duration limit) {
  duration const longest = limit > between_looks ? between_looks : limit;
  duration const maximum = longest < longest_spin ? longest_spin : longest;
  time_point begin{};
  time_point last_progress{};
  std::uint64_t known_progress = 0;
  for (int i = 0;; ++i) {
    if (target.advance(target.object)) {
      return true;
    }
    relax();
    if (i % 32 == 31) {
      state.poll();
      if (state.transport.fault()) {
        return false;
      }
      time_point const now = steady_now();
      begin = begin == time_point{} ? now : begin;
      std::uint64_t const progress = target.progress(target.object);
      last_progress = progress == known_progress && last_progress != time_point{} ? last_progress : now;
      known_progress = progress;
      if (now - last_progress > longest_spin || now - begin > maximum) {
        return false;
      }
    }
  }
}

TUTTI_DECL bool wait_yielding(rank_state& state, wait_target const& target, bool has_spun) {
  constexpr int yields = 64;
  for (int i = 0; i < yields; ++i) {
    time_point const begin = steady_now();
    ::sched_yield();
    time_point const now = steady_now();
    bool const is_late = state.wait_policy.count_yield(now - begin, now);
    state.poll();
    if (target.advance(target.object)) {
      state.wait_policy.count_avoided_wake_up();
      if (i == 0 && has_spun) {
        state.wait_policy.suppress_spins(now);
      }
      return true;
    }
    if (is_late) {
      return false;
    }
  }
  return false;
}

[[nodiscard]] inline bool ended_by_fault(rank_state const& state, wait_target const& target) {
  return !target.outlasts_faults && state.transport.fault();
}

/// Sleeps until something arrives on this communicator or another of the thread's progress list. All of them are
/// advanced before and after. Returns true if `advance` did.
TUTTI_DECL bool wait_asleep(rank_state& state, wait_target const& target, duration nap) {
  if (state.transport.waits_itself()) {  // the transport waits by itself, without polling
    if (nap > duration::zero()) {
      state.transport.wait_for_work(nap);
    }
    state.advance();
    return target.advance(target.object);
  }
  int const handle = state.transport.arm();
  progress_list* const list = progress_list::current_unless_only(state);
  if (list != nullptr) {
    list->arm(state);
  }
  state.poll();
  bool const is_done = target.advance(target.object);
  if (!is_done && !ended_by_fault(state, target)) {
    int const milliseconds =
        nap <= duration::zero() ? 0 : static_cast<int>(nap.count() / 1'000'000 + 1);  // EINTR counts as a wake-up
    if (list != nullptr) {
      list->sleep(handle, milliseconds);
    } else {
      ::pollfd entry{.fd = handle, .events = POLLIN, .revents = 0};
      ::poll(&entry, 1, milliseconds);
    }
  }
  state.transport.disarm();
  if (list != nullptr) {
    list->disarm(state);
  }
  state.poll();
  return is_done || target.advance(target.object);
}

TUTTI_DECL wait_outcome wait_in_naps(rank_state& state, wait_target const& target, duration limit) {
  cancellation_shield const between_points;
  const time_point begin = state.transport.now();
  time_point next_look = begin + between_looks;
  auto const next_nap = [&](time_point now) {
    const duration until_look = next_look - now;
    const duration left = limit - (now - begin);
    return left < until_look ? left : until_look;
  };
  for (duration nap = state.transport.waits_itself() ? duration::zero() : next_nap(begin);;) {
    if (wait_asleep(state, target, nap)) {
      return wait_outcome::complete;
    }
    cancellation_shield::point();
    const time_point now = state.transport.now();
    if (now >= next_look) {
      state.probe();
      target.detect_mismatch(target.object);
      next_look = now + between_looks;
    }
    if (ended_by_fault(state, target)) {
      return wait_outcome::fault;
    }
    if (now - begin >= limit) {
      return wait_outcome::limit;
    }
    nap = next_nap(now);
  }
}

TUTTI_DECL wait_outcome wait(rank_state& state, wait_target const& target, duration limit) {
  if (!state.transport.waits_itself()) {
    bool const spins = !state.is_oversubscribed && state.wait_policy.spins(steady_now);
    if (spins && wait_spinning(state, target, limit)) {
      return wait_outcome::complete;
    }
    bool const yields = state.wait_policy.yields(steady_now);
    if (yields && wait_yielding(state, target, spins)) {
      return wait_outcome::complete;
    }
    if (spins && !yields) {
      // Without a yield, only a sleep shorter than the spin before it shows that the peer was waiting for this core.
      time_point const begin = steady_now();
      wait_outcome const outcome = wait_in_naps(state, target, limit);
      time_point const now = steady_now();
      if (outcome == wait_outcome::complete && now - begin < longest_spin) {
        state.wait_policy.suppress_spins(now);
      }
      return outcome;
    }
  }
  // The clock starts here: the spins above took microseconds, or made progress.
  return wait_in_naps(state, target, limit);
}

}  // namespace tutti::detail::communicator
