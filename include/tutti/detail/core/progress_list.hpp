// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/owner.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <poll.h>

namespace tutti::inline v0_1_0::detail::inline core {

class progress_list;

/// An entry of a thread's progress list: a communicator on which the thread has started operations.
struct progress_entry {
  bool (*move)(progress_entry&) noexcept = nullptr;    ///< advances the operations; false when there are none left
  int (*arm)(progress_entry&) = nullptr;               ///< returns the descriptor that ends a sleep
  void (*disarm)(progress_entry&) noexcept = nullptr;  ///< must follow a sleep
  void (*look)(progress_entry&) noexcept = nullptr;    ///< looks for failed peers
  void (*destroy)(progress_entry&) = nullptr;          ///< set if its last handle was destroyed while it was in use

  progress_entry* next = nullptr;
  progress_entry* previous = nullptr;
  bool is_armed = false;                      ///< the thread sleeps on its descriptor
  bool is_moving = false;                     ///< the thread is advancing it, or looks for failed peers
  std::atomic<progress_list*> list{nullptr};  ///< list of the thread that advances it, or null
  std::uint32_t generation = 0;               ///< fork generation of that thread's process
};

/// The progress list of a thread: the communicators on which it has started operations and which no other thread has
/// used since. A wait or poll on any communicator advances all of them. A fiber counts as a thread.
///
/// One thread at a time uses a communicator, which may change threads with operations under way. The next thread
/// `take`s it first, and the previous one, which may be about to advance it, drops it. The list's lock guards all
/// accesses; only such a handover contends for it. A communicator without operations is dropped at the next walk
/// through the list, so starting one operation after another costs nothing.
class progress_list {
 public:
  progress_list() noexcept = default;
  progress_list(progress_list const&) = delete;
  progress_list& operator=(progress_list const&) = delete;
  /// Ends the list with its thread: the operations left make no progress until another thread takes them.
  TUTTI_DECL ~progress_list();

  /// The list of this thread if it has entries other than `caller`, else null.
  [[nodiscard]] static progress_list* current_unless_only(progress_entry const& caller) noexcept {
    progress_list* const list = current;
    return list != nullptr && list->has_others(caller) ? list : nullptr;
  }

  /// True if no thread, or this thread, advances `entry`.
  [[nodiscard]] static bool is_free(progress_entry const& entry) noexcept {
    return entry.list.load(std::memory_order_acquire) == nullptr;
  }
  [[nodiscard]] static bool is_of_this_thread(progress_entry const& entry) noexcept {
    return entry.list.load(std::memory_order_acquire) == current;
  }

  /// Moves `entry` to the list of this thread.
  static void take(progress_entry& entry) noexcept {
    if (current == nullptr || entry.list.load(std::memory_order_acquire) != current) [[unlikely]] {
      take_over(entry);
    }
  }
  /// Removes `entry` from any list. Afterwards, no thread is about to advance it.
  TUTTI_DECL static void leave(progress_entry& entry) noexcept;

  /// Advances all but `caller`, and drops those without operations. Does nothing in a nested call.
  TUTTI_DECL void move(progress_entry const& caller) noexcept;
  TUTTI_DECL void look(progress_entry const& caller) noexcept;
  TUTTI_DECL void disarm(progress_entry const& caller) noexcept;

  /// @throws std::bad_alloc when there are more entries than ever before
  TUTTI_DECL void arm(progress_entry const& caller);
  /// Sleeps until something arrives for an armed entry or on `caller_handle`, or until the time has passed.
  TUTTI_DECL void sleep(int caller_handle, int milliseconds) noexcept;

  /// Replaces the list of this thread, when it switches to another fiber. Returns the previous list.
  TUTTI_DECL static progress_list* exchange_current(progress_list* list) noexcept;

 private:
  class handover_lock;
  class list_lock;

  TUTTI_DECL static progress_list& of_this_thread();
  TUTTI_DECL static void take_over(progress_entry& entry) noexcept;

  [[nodiscard]] bool has_others(progress_entry const& caller) const noexcept {
    progress_entry const* const first = first_.load(std::memory_order_relaxed);
    return first != nullptr && (first != &caller || last_.load(std::memory_order_relaxed) != &caller);
  }
  /// A walk through the list, which remains valid if its next entry is dropped meanwhile.
  struct walk {
    progress_entry* next;
    walk* outer;
  };
  template <class F>
  void for_each(progress_entry const& caller, F action);

  TUTTI_DECL void lock() noexcept;
  TUTTI_DECL void unlock() noexcept;
  TUTTI_DECL void append(progress_entry& entry) noexcept;
  TUTTI_DECL static void disarm_entry(progress_entry& entry) noexcept;
  TUTTI_DECL void drop(progress_entry& entry) noexcept;
  TUTTI_DECL void forget() noexcept;

  static constinit inline thread_local progress_list* current = nullptr;
  static constinit inline thread_local bool is_destroyed = false;  ///< the list of this thread has been destroyed

  std::atomic<progress_entry*> first_{nullptr};
  std::atomic<progress_entry*> last_{nullptr};
  std::atomic<bool> is_locked_{false};
  unsigned depth_ = 0;  ///< nesting depth of the lock in this thread
  walk* walks_ = nullptr;
  owned_array<::pollfd> handles_;
  std::size_t capacity_ = 0;
  std::size_t handle_count_ = 0;  ///< handles in use; the first is the waiting communicator's own
};

}  // namespace tutti::detail::core

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/core/progress_list.ipp>
#endif
