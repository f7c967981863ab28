// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/extend/error.hpp>
#include <tutti/extend/element.hpp>
#include <tutti/extend/expects.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace tutti::inline v0_1_0::cuda {

/// Elements in host memory whose pages stay where they are, so that a device copies them while the host goes on. A
/// `buffer`, as std::vector is. Its elements have no values until something is written there.
template <element T>
class pinned_array {
 public:
  /// None.
  pinned_array() noexcept = default;
  /// `size` elements. @throws cuda::error
  explicit pinned_array(std::size_t size) : size_(size) {
    expects(size <= SIZE_MAX / sizeof(T), "cuda::pinned_array: there is no room for ", size, " elements of ", sizeof(T),
            " bytes");
    void* p = nullptr;
    if (size != 0) {
      detail::runtime::examine(cudaMallocHost(&p, size * sizeof(T)), [size] {
        return "allocating " + std::to_string(size * sizeof(T)) + " bytes of host memory whose pages are pinned";
      });
    }
    first_ = static_cast<T*>(p);
  }
  /// Takes its memory; `other` has none then.
  pinned_array(pinned_array&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  /// Takes over the other's value, and releases that of before.
  pinned_array& operator=(pinned_array&& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~pinned_array() { static_cast<void>(cudaFreeHost(first_)); }

  /// The first one.
  [[nodiscard]] T* data() const noexcept { return first_; }
  /// How many elements.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// The first one.
  [[nodiscard]] T* begin() const noexcept { return first_; }
  /// Behind the last one.
  [[nodiscard]] T* end() const noexcept { return first_ + size_; }
  /// @pre i < size()
  [[nodiscard]] T& operator[](std::size_t i) const noexcept { return first_[i]; }

 private:
  T* first_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tutti::cuda
