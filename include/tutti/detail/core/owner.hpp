// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstddef>
#include <utility>

namespace tutti::inline v0_1_0::detail::inline core {

/// std::unique_ptr for headers that every program parses. (The standard one brings a tuple, a dozen traits and all
/// comparison operators; see "Compile time" in docs/design/headers.md.)
template <class T>
struct deleter {
  void operator()(T* object) const noexcept { delete object; }
};

template <class T, class Deleter = deleter<T>>
class owner {
 public:
  owner() noexcept = default;
  explicit owner(T* object) noexcept : object_(object) {}
  owner(owner&& other) noexcept : object_(other.release()) {}
  owner& operator=(owner&& other) noexcept {
    if (this != &other) {
      reset(other.release());
    }
    return *this;
  }
  ~owner() { reset(); }

  [[nodiscard]] T* get() const noexcept { return object_; }
  [[nodiscard]] T& operator*() const noexcept { return *object_; }
  [[nodiscard]] T* operator->() const noexcept { return object_; }
  [[nodiscard]] explicit operator bool() const noexcept { return object_ != nullptr; }
  [[nodiscard]] bool operator==(std::nullptr_t) const noexcept { return object_ == nullptr; }
  [[nodiscard]] T* release() noexcept { return std::exchange(object_, nullptr); }
  void reset(T* object = nullptr) noexcept {
    if (T* const previous = std::exchange(object_, object); previous != nullptr) {
      Deleter{}(previous);
    }
  }

 private:
  T* object_ = nullptr;
};

/// Owns an array whose length its owner knows. Bytes and numbers in it are uninitialised.
template <class T>
class owned_array {
 public:
  owned_array() noexcept = default;
  explicit owned_array(std::size_t size) : elements_(new T[size]) {}
  owned_array(owned_array&& other) noexcept : elements_(std::exchange(other.elements_, nullptr)) {}
  owned_array& operator=(owned_array&& other) noexcept {
    std::swap(elements_, other.elements_);
    return *this;
  }
  ~owned_array() { delete[] elements_; }

  [[nodiscard]] T* get() const noexcept { return elements_; }
  [[nodiscard]] T& operator[](std::size_t i) const noexcept { return elements_[i]; }

 private:
  T* elements_ = nullptr;
};

}  // namespace tutti::detail::core
