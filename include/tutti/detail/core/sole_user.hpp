// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <atomic>
#include <cstdint>

namespace tutti::inline v0_1_0::detail::inline core {

/// Finds out that two threads use one thing at a time. It is no lock, and costs less than one: it loads a word,
/// compares, and stores.
///
/// A thread that comes while another one is in is refused, and the one that is in hears of it as it leaves. If two
/// have come at the same moment, both are in, but the word holds one of them alone, so the other one hears of it.
/// From then on all are refused.
class sole_user {
 public:
  enum class entry : std::uint8_t { first, again, refused };

  /// `first` is to be followed by `leave`; `again` is the thread that is in already.
  [[nodiscard, gnu::always_inline]] entry enter() noexcept {
    void const* const in = user_.load(std::memory_order_relaxed);
    if (in == nullptr) [[likely]] {
      user_.store(&me, std::memory_order_relaxed);
      return entry::first;
    }
    if (in == &me) {
      return entry::again;
    }
    user_.store(this, std::memory_order_relaxed);  // which is no thread
    return entry::refused;
  }

  /// True if this thread is in.
  [[nodiscard]] bool is_inside() const noexcept { return user_.load(std::memory_order_relaxed) == &me; }

  /// Whether it has been alone.
  [[nodiscard, gnu::always_inline]] bool leave() noexcept {
    if (user_.load(std::memory_order_relaxed) != &me) [[unlikely]] {
      user_.store(this, std::memory_order_relaxed);
      return false;
    }
    user_.store(nullptr, std::memory_order_relaxed);
    return true;
  }

 private:
  static constinit inline thread_local char me = 0;  ///< its place is the thread's name

  std::atomic<void const*> user_{nullptr};
};

}  // namespace tutti::detail::core
