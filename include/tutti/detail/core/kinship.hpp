// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/intrusive_pointer.hpp>

#include <atomic>
#include <cstdint>

namespace tutti::inline v0_1_0::detail::inline core {

/// State shared by all communicators of one world on one rank: one value, created on first use, destroyed with the last
/// communicator. Copies share it; a new object belongs to no world yet.
///
/// Thread safety: different threads may use objects that share a value; the value must be thread-safe itself.
class kinship {
 public:
  /// Begins a world, unless this object belongs to one.
  void found() {
    if (kept_.get() == nullptr) {
      kept_ = intrusive_pointer(new kept);
    }
  }

  /// The shared value. @pre this object belongs to a world, and T is always one type
  template <class T>
  [[nodiscard]] T& common() const {
    void* value = kept_->value.load(std::memory_order_acquire);
    if (value == nullptr) {
      T* const mine = new T;
      kept_->end.store([](void* p) noexcept { delete static_cast<T*>(p); }, std::memory_order_relaxed);
      if (kept_->value.compare_exchange_strong(value, mine, std::memory_order_acq_rel)) {
        return *mine;
      }
      delete mine;  // another thread was first
    }
    return *static_cast<T*>(value);
  }

 private:
  struct kept {
    ~kept() {
      if (void* const v = value.load(std::memory_order_relaxed); v != nullptr) {
        end.load(std::memory_order_relaxed)(v);
      }
    }
    void add_reference() noexcept { holders.fetch_add(1, std::memory_order_relaxed); }
    void drop_reference() noexcept {
      if (holders.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        delete this;
      }
    }

    std::atomic<std::uint32_t> holders{1};
    std::atomic<void*> value{nullptr};
    std::atomic<void (*)(void*) noexcept> end{nullptr};
  };

  intrusive_pointer<kept> kept_;
};

}  // namespace tutti::detail::core
