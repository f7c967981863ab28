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

/// An entry of a thread's progress list: a communicator on which the thread has started operations.
struct duty {
  bool (*move)(duty&) noexcept = nullptr;    ///< advances the operations; false when there are none left
  int (*arm)(duty&) = nullptr;               ///< returns the descriptor that ends a sleep
  void (*disarm)(duty&) noexcept = nullptr;  ///< must follow a sleep
  void (*look)(duty&) noexcept = nullptr;    ///< looks for failed peers
  void (*destroy)(duty&) = nullptr;          ///< set if its last handle was destroyed while it was in use

  duty* next = nullptr;
  duty* previous = nullptr;
  bool armed = false;                ///< the thread sleeps on its descriptor
  bool moving = false;               ///< the thread is advancing it
  std::atomic<duties*> of{nullptr};  ///< list of the thread that advances it, or null
  std::uint32_t generation = 0;      ///< fork generation of that thread's process
};

/// The progress list of a thread: the communicators on which it has started operations and which no other thread has
/// used since. A wait or poll on any communicator advances all of them. A fiber counts as a thread.
///
/// One thread at a time uses a communicator, which may change threads with operations under way. The next thread
/// `take`s it first, and the previous one, which may be about to advance it, drops it. The list's lock guards all
/// accesses; only such a handover contends for it. A communicator without operations is dropped at the next walk
/// through the list, so starting one operation after another costs nothing.
class duties {
 public:
  duties() noexcept = default;
  duties(duties const&) = delete;
  duties& operator=(duties const&) = delete;
  /// Ends the list with its thread: the operations left make no progress until another thread takes them.
  TUTTI_DECL ~duties();

  /// The list of this thread if it has entries other than `own`, else null.
  [[nodiscard]] static duties* besides(duty const& own) noexcept {
    duties* const mine = current;
    return mine != nullptr && mine->has_others(own) ? mine : nullptr;
  }

  /// True if no thread, or this thread, advances `d`.
  [[nodiscard]] static bool is_free(duty const& d) noexcept { return d.of.load(std::memory_order_acquire) == nullptr; }
  [[nodiscard]] static bool is_mine(duty const& d) noexcept { return d.of.load(std::memory_order_acquire) == current; }

  /// Moves `d` to the list of this thread.
  static void take(duty& d) noexcept {
    if (current == nullptr || d.of.load(std::memory_order_acquire) != current) [[unlikely]] {
      take_over(d);
    }
  }
  /// Removes `d` from any list. Afterwards, no thread is about to advance it.
  TUTTI_DECL static void leave(duty& d) noexcept;

  /// Advances all but `own`, and drops those without operations. Does nothing in a nested call.
  TUTTI_DECL void move(duty const& own) noexcept;
  TUTTI_DECL void look(duty const& own) noexcept;
  TUTTI_DECL void disarm(duty const& own) noexcept;

  /// @throws std::bad_alloc when there are more entries than ever before
  TUTTI_DECL void arm(duty const& own);
  /// Sleeps until something arrives for an armed entry or on `own`, or until the time has passed.
  TUTTI_DECL void sleep(int own, int milliseconds) noexcept;

  /// Replaces the list of this thread, when it switches to another fiber. Returns the previous list.
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
  /// A walk through the list, which remains valid if its next entry is dropped meanwhile.
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
  static constinit inline thread_local bool over = false;  ///< the list of this thread has been destroyed

  std::atomic<duty*> first_{nullptr};
  std::atomic<duty*> last_{nullptr};
  std::atomic<bool> locked_{false};
  unsigned depth_ = 0;  ///< nesting depth of the lock in this thread
  walk* walks_ = nullptr;
  owned_array<::pollfd> handles_;
  std::size_t capacity_ = 0;
  std::size_t armed_ = 0;  ///< handles in use; the first is the waiting communicator's own
};

}  // namespace tutti::detail::core

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/core/duties.ipp>
#endif
