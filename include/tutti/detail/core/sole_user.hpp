// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <atomic>
#include <cstdint>

namespace tutti::inline v0_1_0::detail::inline core {

/// Detects that two threads use one object at a time. It is no lock and costs less: a load, a compare, a store.
///
/// A thread that enters while another is inside is refused, and the one inside is told when it leaves. If two enter at
/// one instant, both are inside, but the word holds only one of them, and the other is told when it leaves. Afterwards
/// all threads are refused.
///
/// An object may be lent: a thread that is not its user borrows it while nobody is inside, for a moment. Users of such
/// an object call `try_enter`, an atomic exchange.
class sole_user {
 public:
  enum class entry : std::uint8_t { first, again, conflict, loan };

  /// Returns `first`, to be followed by `leave`, or `again` for the thread that is inside already, or `conflict`.
  [[nodiscard, gnu::always_inline]] entry enter() noexcept {
    void const* const user = user_.load(std::memory_order_relaxed);
    if (user == nullptr) [[likely]] {
      user_.store(&me, std::memory_order_relaxed);
      return entry::first;
    }
    if (user == &me) {
      return entry::again;
    }
    refuse_all();
    return entry::conflict;
  }
  /// Enters an object that may be lent, like `enter`; but a conflict is not noted, and `loan` means that the object is
  /// about to be given back.
  [[nodiscard, gnu::always_inline]] entry try_enter() noexcept {
    void const* user = user_.load(std::memory_order_relaxed);
    if (user == nullptr &&
        user_.compare_exchange_strong(user, &me, std::memory_order_acquire, std::memory_order_relaxed)) [[likely]] {
      return entry::first;
    }
    return user == &me ? entry::again : user == &loan_mark ? entry::loan : entry::conflict;
  }
  /// Refuses all threads from now on, because of a conflict.
  void refuse_all() noexcept { user_.store(this, std::memory_order_relaxed); }  // the address of no thread

  /// Returns true, to be followed by `give_back`, if no thread is inside. Threads that enter meanwhile wait.
  [[nodiscard]] bool borrow() noexcept {
    void const* user = nullptr;
    return user_.compare_exchange_strong(user, &loan_mark, std::memory_order_acquire, std::memory_order_relaxed);
  }
  void give_back() noexcept {
    void const* user = &loan_mark;
    user_.compare_exchange_strong(user, nullptr, std::memory_order_release, std::memory_order_relaxed);
  }

  /// True if this thread is inside.
  [[nodiscard]] bool is_inside() const noexcept { return user_.load(std::memory_order_relaxed) == &me; }

  /// Returns true if no other thread tried to enter.
  [[nodiscard, gnu::always_inline]] bool leave() noexcept {
    if (user_.load(std::memory_order_relaxed) != &me) [[unlikely]] {
      refuse_all();
      return false;
    }
    user_.store(nullptr, std::memory_order_release);
    return true;
  }

 private:
  static constinit inline thread_local char me = 0;  ///< its address identifies the thread
  static constexpr char loan_mark = 0;               ///< its address stands for a thread that has borrowed the object

  std::atomic<void const*> user_{nullptr};
};

}  // namespace tutti::detail::core
