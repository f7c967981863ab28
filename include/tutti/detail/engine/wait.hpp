// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/duties.hpp>
#include <tutti/detail/core/patience.hpp>
#include <tutti/error.hpp>
#include <tutti/time.hpp>
#include <tutti/transport/concept.hpp>

#include <cerrno>
#include <cstdint>
#include <poll.h>

namespace tutti::detail {

/// Tells the processor that this is a waiting loop.
inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// How often somebody who waits looks for peers that are gone.
inline constexpr duration between_looks = std::chrono::milliseconds(10);

/// How a wait ended.
enum class waited { done, limit, fault };

/// What the messages of a round may take that a peer answers at once.
inline constexpr duration longest_spin = std::chrono::microseconds(100);

/// Spins for as long as a message takes, and on while `progress` changes: a rank that falls asleep in the middle of a
/// long operation is woken for each of its messages, at the price of a system call of the peer that sends it. But
/// hardly longer than `limit`, nor than looks for peers that are gone may be apart. True if `advance` said so.
template <class Communicator, class Advance, class Progress>
bool wait_spinning(Communicator& world, Advance& advance, Progress& progress, duration limit) {
  duration const longest = limit > between_looks ? between_looks : limit;
  duration const most = longest < longest_spin ? longest_spin : longest;
  time_point begin{};
  time_point moved{};
  std::uint64_t seen = 0;
  for (int i = 0;; ++i) {
    if (advance()) {
      return true;
    }
    relax();
    if (i % 32 == 31) {
      world.poll();
      if (world.transport().fault()) {
        return false;
      }
      time_point const now = steady_now();
      begin = begin == time_point{} ? now : begin;
      std::uint64_t const reached = progress();
      moved = reached == seen && moved != time_point{} ? moved : now;
      seen = reached;
      if (now - moved > longest_spin || now - begin > most) {
        return false;
      }
    }
  }
}

/// Lets others have their turns on this core, for as long as those are short. True if `advance` said so.
template <class Communicator, class Advance>
bool wait_yielding(Communicator& world, Advance& advance, bool has_spun) {
  constexpr int yields = 64;
  for (int i = 0; i < yields; ++i) {
    time_point const before = steady_now();
    std::this_thread::yield();
    time_point const now = steady_now();
    bool const late = world.patience().late(now - before, now);
    world.poll();
    if (advance()) {
      world.patience().saved_a_wake_up();
      if (i == 0 && has_spun) {
        world.patience().shares_a_core(now);
      }
      return true;
    }
    if (late) {
      return false;
    }
  }
  return false;
}

/// Sleeps until something arrives on the communicator or on another one on which this thread has started operations.
/// All of them move on before and after. True if `advance` said so.
template <class Communicator, class Advance, class Failed>
bool wait_asleep(Communicator& world, Advance& advance, Failed& failed, duration nap) {
  auto& transport = world.transport();
  int const handle = transport.arm();
  duties* const others = duties::besides(world.as_duty());
  if (others != nullptr) {
    others->arm(world.as_duty());
  }
  world.poll();
  bool const done = advance();
  if (!done && !failed()) {
    int const milliseconds =
        nap <= duration::zero() ? 0 : static_cast<int>(nap.count() / 1'000'000 + 1);  // EINTR is as good as a wake-up
    if (others != nullptr) {
      others->sleep(handle, milliseconds);
    } else {
      ::pollfd one{.fd = handle, .events = POLLIN, .revents = 0};
      ::poll(&one, 1, milliseconds);
    }
  }
  transport.disarm();
  if (others != nullptr) {
    others->disarm(world.as_duty());
  }
  world.poll();
  return done || advance();
}
/// The same over a transport that waits by itself: while nothing happens there, no turn is taken here.
template <class Communicator, class Advance, class Failed>
  requires rests<typename Communicator::transport_type>
bool wait_asleep(Communicator& world, Advance& advance, Failed&, duration nap) {
  if (nap > duration::zero()) {
    world.transport().rest(nap);
  }
  world.advance();
  return advance();
}

/// The part of a wait in which a system call is nothing: naps, and now and then a look for dead peers on all
/// communicators on which this thread has started operations. `failed` says whether to give up.
template <class Communicator, class Advance, class Inquire, class Failed>
waited wait_in_naps(Communicator& world, Advance& advance, Inquire& inquire, Failed failed, duration limit) {
  auto& transport = world.transport();
  const time_point begin = transport.now();
  time_point next_look = begin + between_looks;
  auto const next_nap = [&](time_point now) {
    const duration until_look = next_look - now;
    const duration left = limit - (now - begin);
    return left < until_look ? left : until_look;
  };
  for (duration nap = rests<typename Communicator::transport_type> ? duration::zero() : next_nap(begin);;) {
    if (wait_asleep(world, advance, failed, nap)) {
      return waited::done;
    }
    const time_point now = transport.now();
    if (now >= next_look) {
      world.look();
      inquire();
      next_look = now + between_looks;
    }
    if (failed()) {
      return waited::fault;
    }
    if (now - begin >= limit) {
      return waited::limit;
    }
    nap = next_nap(now);
  }
}

/// Calls `advance` until it says true: awake at first, then asleep.
/// Everything else that this thread has started moves on meanwhile, on whatever communicator.
///
/// Returns early when `limit` has passed or when the epoch has failed. Now and then it looks for dead peers and calls
/// `inquire`, which may find out that waiting is in vain.
/// `progress` is a number that changes while the operation moves and this rank had better stay awake.
template <class Communicator, class Advance, class Progress, class Inquire>
waited wait(Communicator& world, Advance advance, Progress progress, Inquire inquire, duration limit) {
  if constexpr (!rests<typename Communicator::transport_type>) {
    bool const spins = !world.crowded() && world.patience().spins(steady_now);
    if (spins && wait_spinning(world, advance, progress, limit)) {
      return waited::done;
    }
    if (world.patience().yields(steady_now) && wait_yielding(world, advance, spins)) {
      return waited::done;
    }
  }
  // The clock starts now: the spins above were microseconds, or moved the operation.
  return wait_in_naps(
      world, advance, inquire, [&] { return static_cast<bool>(world.transport().fault()); }, limit);
}

}  // namespace tutti::detail
