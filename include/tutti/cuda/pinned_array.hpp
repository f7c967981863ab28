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

/// Elements in host memory that is pinned, so that a device copies them while the host continues. A `buffer`, like
/// std::vector. The elements are uninitialized.
template <element T>
class pinned_array {
 public:
  /// An empty array.
  pinned_array() noexcept = default;
  /// An array of `size` elements. @throws cuda::error
  explicit pinned_array(std::size_t size) : size_(size) {
    expects(size <= SIZE_MAX / sizeof(T), "cuda::pinned_array: ask for fewer elements; memory cannot hold ", size,
            " elements of ", sizeof(T), " bytes");
    void* p = nullptr;
    if (size != 0) {
      detail::runtime::examine(cudaMallocHost(&p, size * sizeof(T)), [size] {
        return "allocating " + std::to_string(size * sizeof(T)) + " bytes of host memory whose pages are pinned";
      });
    }
    first_ = static_cast<T*>(p);
  }
  /// Takes the memory of `other`, which becomes empty.
  pinned_array(pinned_array&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  /// Takes the memory of `other`; the old memory is released.
  pinned_array& operator=(pinned_array&& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~pinned_array() { static_cast<void>(cudaFreeHost(first_)); }

  /// The address of the first element.
  [[nodiscard]] T* data() const noexcept { return first_; }
  /// The number of elements.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// The first element.
  [[nodiscard]] T* begin() const noexcept { return first_; }
  /// The end of the elements.
  [[nodiscard]] T* end() const noexcept { return first_ + size_; }
  /// @pre i < size()
  [[nodiscard]] T& operator[](std::size_t i) const noexcept { return first_[i]; }

 private:
  T* first_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tutti::cuda
