// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/communicator/rank_state.hpp>
#include <tutti/detail/communicator/wait.hpp>
#include <tutti/detail/core/cancellation.hpp>
#include <tutti/detail/core/duties.hpp>

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

TUTTI_DECL bool wait_spinning(rank_state& world, wait_target const& what, duration limit) {
  duration const longest = limit > between_looks ? between_looks : limit;
  duration const most = longest < longest_spin ? longest_spin : longest;
  time_point begin{};
  time_point moved{};
  std::uint64_t seen = 0;
  for (int i = 0;; ++i) {
    if (what.advance(what.of)) {
      return true;
    }
    relax();
    if (i % 32 == 31) {
      world.poll();
      if (world.any.fault()) {
        return false;
      }
      time_point const now = steady_now();
      begin = begin == time_point{} ? now : begin;
      std::uint64_t const reached = what.progress(what.of);
      moved = reached == seen && moved != time_point{} ? moved : now;
      seen = reached;
      if (now - moved > longest_spin || now - begin > most) {
        return false;
      }
    }
  }
}

TUTTI_DECL bool wait_yielding(rank_state& world, wait_target const& what, bool has_spun) {
  constexpr int yields = 64;
  for (int i = 0; i < yields; ++i) {
    time_point const before = steady_now();
    ::sched_yield();
    time_point const now = steady_now();
    bool const late = world.patience.late(now - before, now);
    world.poll();
    if (what.advance(what.of)) {
      world.patience.saved_a_wake_up();
      if (i == 0 && has_spun) {
        world.patience.shares_a_core(now);
      }
      return true;
    }
    if (late) {
      return false;
    }
  }
  return false;
}

[[nodiscard]] inline bool ended_by_fault(rank_state const& world, wait_target const& what) {
  return !what.outlasts_faults && world.any.fault();
}

/// Sleeps until something arrives on this communicator or another of the thread's progress list. All of them are
/// advanced before and after. Returns true if `advance` did.
TUTTI_DECL bool wait_asleep(rank_state& world, wait_target const& what, duration nap) {
  if (world.any.waits_itself()) {  // the transport waits by itself, without polling
    if (nap > duration::zero()) {
      world.any.wait_for_work(nap);
    }
    world.advance();
    return what.advance(what.of);
  }
  int const handle = world.any.arm();
  duties* const others = duties::besides(world);
  if (others != nullptr) {
    others->arm(world);
  }
  world.poll();
  bool const done = what.advance(what.of);
  if (!done && !ended_by_fault(world, what)) {
    int const milliseconds =
        nap <= duration::zero() ? 0 : static_cast<int>(nap.count() / 1'000'000 + 1);  // EINTR counts as a wake-up
    if (others != nullptr) {
      others->sleep(handle, milliseconds);
    } else {
      ::pollfd one{.fd = handle, .events = POLLIN, .revents = 0};
      ::poll(&one, 1, milliseconds);
    }
  }
  world.any.disarm();
  if (others != nullptr) {
    others->disarm(world);
  }
  world.poll();
  return done || what.advance(what.of);
}

TUTTI_DECL waited wait_in_naps(rank_state& world, wait_target const& what, duration limit) {
  uncancelled const between_points;
  const time_point begin = world.any.now();
  time_point next_look = begin + between_looks;
  auto const next_nap = [&](time_point now) {
    const duration until_look = next_look - now;
    const duration left = limit - (now - begin);
    return left < until_look ? left : until_look;
  };
  for (duration nap = world.any.waits_itself() ? duration::zero() : next_nap(begin);;) {
    if (wait_asleep(world, what, nap)) {
      return waited::done;
    }
    uncancelled::point();
    const time_point now = world.any.now();
    if (now >= next_look) {
      world.probe();
      what.detect_mismatch(what.of);
      next_look = now + between_looks;
    }
    if (ended_by_fault(world, what)) {
      return waited::fault;
    }
    if (now - begin >= limit) {
      return waited::limit;
    }
    nap = next_nap(now);
  }
}

TUTTI_DECL waited wait(rank_state& world, wait_target const& what, duration limit) {
  if (!world.any.waits_itself()) {
    bool const spins = !world.crowded && world.patience.spins(steady_now);
    if (spins && wait_spinning(world, what, limit)) {
      return waited::done;
    }
    bool const yields = world.patience.yields(steady_now);
    if (yields && wait_yielding(world, what, spins)) {
      return waited::done;
    }
    if (spins && !yields) {
      // Without a yield, only a sleep shorter than the spin before it shows that the peer was waiting for this core.
      time_point const before = steady_now();
      waited const outcome = wait_in_naps(world, what, limit);
      time_point const now = steady_now();
      if (outcome == waited::done && now - before < longest_spin) {
        world.patience.shares_a_core(now);
      }
      return outcome;
    }
  }
  // The clock starts here: the spins above took microseconds, or made progress.
  return wait_in_naps(world, what, limit);
}

}  // namespace tutti::detail::communicator
