// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstddef>
#include <utility>

namespace tutti::inline v0_1_0::detail::inline core {

/// std::unique_ptr for headers that every program parses. (The standard one brings a tuple, a dozen traits and all
/// comparison operators; see "Compile time" in docs/design/headers.md.)
template <class T>
struct deletes {
  void operator()(T* p) const noexcept { delete p; }
};

template <class T, class End = deletes<T>>
class owned {
 public:
  owned() noexcept = default;
  explicit owned(T* p) noexcept : p_(p) {}
  owned(owned&& other) noexcept : p_(other.release()) {}
  owned& operator=(owned&& other) noexcept {
    if (this != &other) {
      reset(other.release());
    }
    return *this;
  }
  ~owned() { reset(); }

  [[nodiscard]] T* get() const noexcept { return p_; }
  [[nodiscard]] T& operator*() const noexcept { return *p_; }
  [[nodiscard]] T* operator->() const noexcept { return p_; }
  [[nodiscard]] explicit operator bool() const noexcept { return p_ != nullptr; }
  [[nodiscard]] bool operator==(std::nullptr_t) const noexcept { return p_ == nullptr; }
  [[nodiscard]] T* release() noexcept { return std::exchange(p_, nullptr); }
  void reset(T* p = nullptr) noexcept {
    if (T* const old = std::exchange(p_, p); old != nullptr) {
      End{}(old);
    }
  }

 private:
  T* p_ = nullptr;
};

/// Owns an array whose length its owner knows. Bytes and numbers in it are uninitialised.
template <class T>
class owned_array {
 public:
  owned_array() noexcept = default;
  explicit owned_array(std::size_t n) : p_(new T[n]) {}
  owned_array(owned_array&& other) noexcept : p_(std::exchange(other.p_, nullptr)) {}
  owned_array& operator=(owned_array&& other) noexcept {
    std::swap(p_, other.p_);
    return *this;
  }
  ~owned_array() { delete[] p_; }

  [[nodiscard]] T* get() const noexcept { return p_; }
  [[nodiscard]] T& operator[](std::size_t i) const noexcept { return p_[i]; }

 private:
  T* p_ = nullptr;
};

}  // namespace tutti::detail::core
