// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/fork_guard.hpp>

#include <cstdint>
#include <utility>

namespace tutti::inline v0_1_0::detail::verbs {

/// Owns an object of libibverbs. The object belongs to the process that made it: a forked child has neither its
/// descriptors nor its mappings, and does not free it.
template <class T, auto FreeObject>
class handle {
 public:
  handle() noexcept = default;
  explicit handle(T* p) noexcept : p_(p) {}
  handle(handle&& other) noexcept : p_(std::exchange(other.p_, nullptr)), owner_(other.owner_) {}
  handle& operator=(handle&& other) noexcept {
    if (this != &other) {
      reset();
      p_ = std::exchange(other.p_, nullptr);
      owner_ = other.owner_;
    }
    return *this;
  }
  ~handle() { reset(); }

  [[nodiscard]] T* get() const noexcept { return p_; }
  [[nodiscard]] T* operator->() const noexcept { return p_; }
  [[nodiscard]] explicit operator bool() const noexcept { return p_ != nullptr; }
  void reset() noexcept {
    if (p_ != nullptr && owner_ == fork_guard::generation()) {
      FreeObject(p_);
    }
    p_ = nullptr;
  }

 private:
  T* p_ = nullptr;
  std::uint32_t owner_ = fork_guard::generation();
};

}  // namespace tutti::detail::verbs
