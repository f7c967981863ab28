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

/// Elements in memory of the device that was the current one when it was made.
///
///     tutti::cuda::array<float> gradients(n);
///     gradients.copy_from(on_host, stream);
///
/// Its elements have no values until something is copied there. Aligned to 256 bytes.
template <element T>
class array {
 public:
  /// None.
  array() noexcept = default;
  /// `size` elements. @throws cuda::error
  explicit array(std::size_t size) : size_(size) {
    expects(size <= SIZE_MAX / sizeof(T), "cuda::array: there is no room for ", size, " elements of ", sizeof(T),
            " bytes");
    void* p = nullptr;
    if (size != 0) {
      detail::runtime::examine(cudaMalloc(&p, size * sizeof(T)), [size] {
        return "allocating " + std::to_string(size * sizeof(T)) + " bytes of device memory";
      });
    }
    first_ = static_cast<T*>(p);
  }
  /// Takes its memory; `other` has none then.
  array(array&& other) noexcept : first_(std::exchange(other.first_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  /// Takes over the other's value, and releases that of before.
  array& operator=(array&& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(size_, other.size_);
    return *this;
  }
  /// Waits for the device, as cudaFree does: also for operations of other ranks on it, which may wait for this one. Let
  /// arrays live longer than what is enqueued, on all ranks of the device.
  ~array() { static_cast<void>(cudaFree(first_)); }

  /// The address of the first one, on the device.
  [[nodiscard]] T* data() const noexcept { return first_; }
  /// How many elements.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// All of them, for operators.
  [[nodiscard]] device_span<T> span() const noexcept { return {first_, size_}; }

  /// Puts into the stream that these become what is on the host, which stays as it is until then; out of a
  /// `pinned_array` the host does not wait for it. @pre as many elements @throws cuda::error
  void copy_from(std::span<T const> host, stream const& in) const {
    copy(first_, host.data(), host.size(), cudaMemcpyHostToDevice, in);
  }
  /// Puts into the stream that these are copied to the host. @pre as many elements @throws cuda::error
  void copy_to(std::span<T> host, stream const& in) const {
    copy(host.data(), first_, host.size(), cudaMemcpyDeviceToHost, in);
  }

 private:
  void copy(T* to, T const* from, std::size_t count, cudaMemcpyKind way, stream const& in) const {
    expects(count == size_, "cuda::array: a copy of ", count, " elements, where there are ", size_,
            "; pass spans of as many");
    detail::runtime::examine(cudaMemcpyAsync(to, from, count * sizeof(T), way, in.native()), [count] {
      return "copying " + std::to_string(count * sizeof(T)) + " bytes between host and device";
    });
  }

  T* first_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tutti::cuda
