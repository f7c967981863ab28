// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/owned.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <poll.h>

namespace tutti::inline v0_1_0::detail::inline core {

class duties;

/// A communicator on which a thread has started operations, as that thread sees it.
struct duty {
  bool (*move)(duty&) noexcept = nullptr;    ///< moves the operations on; false when there are none left
  int (*arm)(duty&) = nullptr;               ///< the descriptor to sleep on
  void (*disarm)(duty&) noexcept = nullptr;  ///< no thread sleeps on that any more
  void (*look)(duty&) noexcept = nullptr;    ///< finds out what is not told
  void (*destroy)(duty&) = nullptr;          ///< set if its last name was destroyed while it was in use

  duty* next = nullptr;
  duty* previous = nullptr;
  bool armed = false;                ///< its thread sleeps on it
  bool moving = false;               ///< its thread moves it on
  std::atomic<duties*> of{nullptr};  ///< the thread that moves it on, if any does
  std::uint32_t generation = 0;      ///< of the process whose thread that is
};

/// The communicators that a thread moves on whenever it waits, or asks for progress, on any other one: those on
/// which it has started operations, and which no other thread has used since. A fiber counts as a thread.
///
/// A communicator is used by one thread at a time, but may be handed over with its operations under way. Then the
/// next thread `take`s it before it touches it, and the thread before, which may be about to move it on, lets go.
/// Everything that is done with duties is done under their lock, which only such another thread ever contends for.
/// One without operations is dropped when it is next come by, so that to start one again and again costs nothing.
class duties {
 public:
  duties() noexcept = default;
  duties(duties const&) = delete;
  duties& operator=(duties const&) = delete;
  /// The thread ends: what it has left stands still until another thread takes it.
  TUTTI_DECL ~duties();

  /// Those of this thread that are not `own`; null if there are none.
  [[nodiscard]] static duties* besides(duty const& own) noexcept {
    duties* const mine = current;
    return mine != nullptr && mine->has_others(own) ? mine : nullptr;
  }

  /// Whether it is no thread's, or else this thread's.
  [[nodiscard]] static bool is_free(duty const& d) noexcept { return d.of.load(std::memory_order_acquire) == nullptr; }
  [[nodiscard]] static bool is_mine(duty const& d) noexcept { return d.of.load(std::memory_order_acquire) == current; }

  /// From now on it is this thread's.
  static void take(duty& d) noexcept {
    if (current == nullptr || d.of.load(std::memory_order_acquire) != current) [[unlikely]] {
      take_over(d);
    }
  }
  /// From now on it is no thread's. When this returns, no thread is about to move it on.
  TUTTI_DECL static void leave(duty& d) noexcept;

  /// Moves all but `own` on, and drops what has nothing left to move. Not while it does so.
  TUTTI_DECL void move(duty const& own) noexcept;
  TUTTI_DECL void look(duty const& own) noexcept;
  TUTTI_DECL void disarm(duty const& own) noexcept;

  /// @throws std::bad_alloc when there are more than ever before
  TUTTI_DECL void arm(duty const& own);
  /// Until something arrives for one of those that are armed, or on `own`, or this time has passed.
  TUTTI_DECL void sleep(int own, int milliseconds) noexcept;

  /// Whatever runs on this thread now has duties of its own: how fibers take turns. Returns those before.
  TUTTI_DECL static duties* change(duties* to) noexcept;

 private:
  class between_threads;
  class held;

  TUTTI_DECL static duties& of_this_thread();
  TUTTI_DECL static void take_over(duty& d) noexcept;

  [[nodiscard]] bool has_others(duty const& own) const noexcept {
    duty const* const first = first_.load(std::memory_order_relaxed);
    return first != nullptr && (first != &own || last_.load(std::memory_order_relaxed) != &own);
  }
  /// A walk through the list, which goes on right if what comes next is dropped meanwhile.
  struct walk {
    duty* next;
    walk* outer;
  };
  template <class F>
  void each(duty const& own, F f);

  TUTTI_DECL void lock() noexcept;
  TUTTI_DECL void unlock() noexcept;
  TUTTI_DECL void append(duty& d) noexcept;
  TUTTI_DECL static void awake(duty& d) noexcept;
  TUTTI_DECL void drop(duty& d) noexcept;
  TUTTI_DECL void forget() noexcept;

  static constinit inline thread_local duties* current = nullptr;
  static constinit inline thread_local bool over = false;  ///< the duties of this thread have ended

  std::atomic<duty*> first_{nullptr};
  std::atomic<duty*> last_{nullptr};
  std::atomic<bool> locked_{false};
  unsigned depth_ = 0;  ///< how often this thread holds the lock
  walk* walks_ = nullptr;
  owned_array<::pollfd> handles_;
  std::size_t capacity_ = 0;
  std::size_t armed_ = 0;  ///< handles in use; the first is the waiting communicator's own
};

}  // namespace tutti::detail::core

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/core/duties.ipp>
#endif
