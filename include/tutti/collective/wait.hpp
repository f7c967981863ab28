// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/error.hpp>
#include <tutti/core/patience.hpp>
#include <tutti/core/time.hpp>
#include <tutti/transport/concept.hpp>

#include <cerrno>
#include <poll.h>

namespace tutti {

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

/// Spins for as long as a message takes. True if `advance` said so.
template <class Communicator, class Advance>
bool wait_spinning(Communicator& world, Advance& advance) {
  time_point begin{};
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
      if (now - begin > longest_spin) {
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

/// Calls `advance` until it says true: awake at first, then asleep on the transport's descriptor.
/// Everything else that was started on the communicator moves on meanwhile.
///
/// Returns early when `limit` has passed or when the epoch has failed. A negative limit is none. Now
/// and then it looks for dead peers and calls `inquire`, which may find out that waiting is in vain.
template <class Communicator, class Advance, class Inquire>
waited wait(Communicator& world, Advance advance, Inquire inquire, duration limit) {
  auto& transport = world.transport();
  bool const spins = !world.crowded() && world.patience().spins(steady_now);
  if (spins && wait_spinning(world, advance)) {
    return waited::done;
  }
  if (world.patience().yields(steady_now) && wait_yielding(world, advance, spins)) {
    return waited::done;
  }

  // From here on a system call is nothing. The clock starts now: the spins above were microseconds.
  const time_point begin = transport.now();
  time_point next_look = begin + between_looks;
  for (;;) {
    ::pollfd handle{.fd = transport.arm(), .events = POLLIN, .revents = 0};
    world.poll();
    bool const done = advance();
    if (!done && !transport.fault()) {
      const duration left = limit < duration::zero() ? between_looks : limit - (transport.now() - begin);
      const duration nap = left < between_looks ? left : between_looks;
      ::poll(&handle, 1,
             nap <= duration::zero() ? 0
                                     : static_cast<int>(nap.count() / 1'000'000 + 1));  // EINTR is as good as a wake-up
    }
    transport.disarm();
    world.poll();
    if (done || advance()) {
      return waited::done;
    }
    const time_point now = transport.now();
    if (now >= next_look) {
      transport.look();
      inquire();
      next_look = now + between_looks;
    }
    if (transport.fault()) {
      return waited::fault;
    }
    if (limit >= duration::zero() && now - begin >= limit) {
      return waited::limit;
    }
  }
}

/// The same over a transport that waits by itself: while nothing happens there, no turn is taken here.
template <class Communicator, class Advance, class Inquire>
  requires rests<typename Communicator::transport_type>
waited wait(Communicator& world, Advance advance, Inquire inquire, duration limit) {
  auto& transport = world.transport();
  const time_point begin = transport.now();
  time_point next_look = begin + between_looks;
  for (;;) {
    world.operations().advance();
    if (advance()) {
      return waited::done;
    }
    const time_point now = transport.now();
    if (now >= next_look) {
      transport.look();
      inquire();
      next_look = now + between_looks;
    }
    if (transport.fault()) {
      return waited::fault;
    }
    if (limit >= duration::zero() && now - begin >= limit) {
      return waited::limit;
    }
    const duration until_look = next_look - now;
    const duration left = limit < duration::zero() ? until_look : limit - (now - begin);
    transport.rest(left < until_look ? left : until_look);
  }
}

}  // namespace tutti
