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
class sole_user {
 public:
  enum class entry : std::uint8_t { first, again, conflict };

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
    user_.store(this, std::memory_order_relaxed);  // the address of no thread
    return entry::conflict;
  }

  /// True if this thread is inside.
  [[nodiscard]] bool is_inside() const noexcept { return user_.load(std::memory_order_relaxed) == &me; }

  /// Returns true if no other thread tried to enter.
  [[nodiscard, gnu::always_inline]] bool leave() noexcept {
    if (user_.load(std::memory_order_relaxed) != &me) [[unlikely]] {
      user_.store(this, std::memory_order_relaxed);
      return false;
    }
    user_.store(nullptr, std::memory_order_relaxed);
    return true;
  }

 private:
  static constinit inline thread_local char me = 0;  ///< its address identifies the thread

  std::atomic<void const*> user_{nullptr};
};

}  // namespace tutti::detail::core
