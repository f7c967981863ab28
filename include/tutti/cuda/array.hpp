// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/extend/error.hpp>
#include <tutti/cuda/extend/stream.hpp>
#include <tutti/extend/device_span.hpp>
#include <tutti/extend/element.hpp>
#include <tutti/extend/expects.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace tutti::inline v0_1_0::cuda {

/// Elements in memory of the device that was current at construction.
///
///     tutti::cuda::array<float> gradients(n);
///     gradients.copy_from(on_host, stream);
///
/// The elements are uninitialized until something is copied there. Aligned to 256 bytes.
template <element T>
class array {
 public:
  /// An empty array.
  array() noexcept = default;
  /// An array of `size` elements. @throws cuda::error
  explicit array(std::size_t size) : size_(size) {
    expects(size <= SIZE_MAX / sizeof(T), "cuda::array: ask for fewer elements; memory cannot hold ", size,
            " elements of ", sizeof(T), " bytes");
    void* p = nullptr;
    if (size != 0) {
      detail::runtime::examine(cudaMalloc(&p, size * sizeof(T)), [size] {
        return "allocating " + std::to_string(size * sizeof(T)) + " bytes of device memory";
      });
    }
    first_ = static_cast<T*>(p);
  }
  /// Takes the memory of `other`, which becomes empty.
  array(array&& other) noexcept : first_(std::exchange(other.first_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  /// Takes the memory of `other`; the old memory is released.
  array& operator=(array&& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(size_, other.size_);
    return *this;
  }
  /// Waits for the device, like cudaFree, and so also for operations of other ranks on it, which may wait for this
  /// rank. Let arrays outlive the enqueued operations of all ranks on the device.
  ~array() { static_cast<void>(cudaFree(first_)); }

  /// The device address of the first element.
  [[nodiscard]] T* data() const noexcept { return first_; }
  /// The number of elements.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// All elements, as an argument of operators.
  [[nodiscard]] device_span<T> span() const noexcept { return {first_, size_}; }

  /// Enqueues a copy from the host, whose elements must not change before it has run. From a `pinned_array` the call
  /// does not block. @pre as many elements @throws cuda::error
  void copy_from(std::span<T const> host, cuda::stream const& stream) const {
    copy(first_, host.data(), host.size(), cudaMemcpyHostToDevice, stream);
  }
  /// Enqueues a copy to the host. @pre as many elements @throws cuda::error
  void copy_to(std::span<T> host, cuda::stream const& stream) const {
    copy(host.data(), first_, host.size(), cudaMemcpyDeviceToHost, stream);
  }

 private:
  void copy(T* destination, T const* source, std::size_t count, cudaMemcpyKind direction,
            cuda::stream const& stream) const {
    expects(count == size_, "cuda::array: a copy of ", count, " elements, where there are ", size_,
            "; pass spans of as many");
    detail::runtime::examine(
        cudaMemcpyAsync(destination, source, count * sizeof(T), direction, stream.native()),
        [count] { return "copying " + std::to_string(count * sizeof(T)) + " bytes between host and device"; });
  }

  T* first_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tutti::cuda
