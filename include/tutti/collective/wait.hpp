// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/error.hpp>
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

/// A yield that takes longer was to somebody who computes: among ranks that wait, turns are short.
inline constexpr duration longest_turn = std::chrono::milliseconds(1);
/// After that so many waits sleep at once: who wakes up is given the core before who computes; who yields
/// gets it back when the other's time is over.
inline constexpr int naps_in_a_row = 1000;

/// Spins for as long as a message takes, unless the peer may be waiting for this very core; yields for as
/// long as a busy peer may need it. True if `advance` said so.
template <class Communicator, class Advance>
bool wait_awake(Communicator& world, Advance& advance) {
  auto& transport = world.transport();
  time_point begin{};
  for (int i = 0;; ++i) {
    if (advance()) {
      return true;
    }
    if (world.crowded()) {
      break;
    }
    relax();
    if (i % 32 == 31) {
      world.poll();
      if (transport.fault()) {
        return false;
      }
      time_point const now = steady_now();
      begin = begin == time_point{} ? now : begin;
      if (now - begin > longest_spin) {
        break;
      }
    }
  }

  constexpr int yields = 64;
  for (int i = 0; i < yields; ++i) {
    time_point const before = steady_now();
    std::this_thread::yield();
    world.poll();
    if (advance()) {
      return true;
    }
    if (steady_now() - before > longest_turn) {
      world.naps(naps_in_a_row);
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
  if (!world.naps() && wait_awake(world, advance)) {
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
      const duration left = limit < duration::zero() ? between_looks : begin + limit - transport.now();
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
    const duration left = limit < duration::zero() ? until_look : begin + limit - now;
    transport.rest(left < until_look ? left : until_look);
  }
}

}  // namespace tutti
