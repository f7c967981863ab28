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
class world_local {
 public:
  /// Begins a world, unless this object belongs to one.
  void begin_world() {
    if (state_.get() == nullptr) {
      state_ = intrusive_pointer(new shared_state);
    }
  }

  /// The shared value. @pre this object belongs to a world, and T is always one type
  template <class T>
  [[nodiscard]] T& common() const {
    void* value = state_->value.load(std::memory_order_acquire);
    if (value == nullptr) {
      T* const candidate = new T;
      state_->end.store([](void* p) noexcept { delete static_cast<T*>(p); }, std::memory_order_relaxed);
      if (state_->value.compare_exchange_strong(value, candidate, std::memory_order_acq_rel)) {
        return *candidate;
      }
      delete candidate;  // another thread was first
    }
    return *static_cast<T*>(value);
  }

 private:
  struct shared_state {
    ~shared_state() {
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

  intrusive_pointer<shared_state> state_;
};

}  // namespace tutti::detail::core
