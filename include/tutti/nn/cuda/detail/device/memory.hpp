// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/cuda/detail/device/math.hpp>

#include <cstddef>
#include <span>
#include <utility>

namespace tutti::inline v0_1_0::nn::detail::device {

/// Copies from the device to pinned memory, after all work in the math's stream, and waits for the copy.
template <device_math M>
void download_now(M& math, std::byte* destination, std::byte const* source, std::size_t bytes) {
  typename M::event_type event;
  math.download(math.stream(), destination, source, bytes);
  math.record(event, math.stream());
  math.finish(event);
}

/// Bytes in device memory, or none. @pre nothing enqueued uses them when the buffer is destroyed
template <device_math M>
class buffer {
 public:
  buffer() = default;
  buffer(M& math, std::size_t bytes) : math_(&math), first_(bytes == 0 ? nullptr : math.allocate(bytes)) {}
  buffer(buffer&& other) noexcept : math_(other.math_), first_(std::exchange(other.first_, nullptr)) {}
  buffer& operator=(buffer&& other) noexcept {
    std::swap(math_, other.math_);
    std::swap(first_, other.first_);
    return *this;
  }
  ~buffer() {
    if (first_ != nullptr) {
      math_->free(first_);
    }
  }

  [[nodiscard]] std::byte* data() const noexcept { return first_; }
  [[nodiscard]] float* floats() const noexcept { return reinterpret_cast<float*>(first_); }

 private:
  M* math_ = nullptr;
  std::byte* first_ = nullptr;
};

/// Elements in pinned host memory, from and to which a device copies.
template <device_math M, class T>
class pinned_buffer {
 public:
  pinned_buffer(M& math, std::size_t size)
      : math_(&math), first_(size == 0 ? nullptr : math.allocate_host(size * sizeof(T))), size_(size) {}
  pinned_buffer(pinned_buffer&& other) noexcept
      : math_(other.math_), first_(std::exchange(other.first_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  pinned_buffer& operator=(pinned_buffer&& other) noexcept {
    std::swap(math_, other.math_);
    std::swap(first_, other.first_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~pinned_buffer() {
    if (first_ != nullptr) {
      math_->free_host(first_);
    }
  }

  [[nodiscard]] std::span<T> span() const noexcept { return {reinterpret_cast<T*>(first_), size_}; }
  [[nodiscard]] std::byte* bytes() const noexcept { return first_; }

 private:
  M* math_;
  std::byte* first_;
  std::size_t size_;
};

/// Floats in device memory with a copy on the host. The side that was written last is valid; the other is updated on
/// demand.
template <device_math M>
class mirrored_array {
 public:
  mirrored_array(M& math, std::size_t size)
      : math_(&math), size_(size), device_(math, size * sizeof(float)), host_(math, size) {}

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// The host's copy, for reading.
  [[nodiscard]] std::span<float const> read() {
    if (newer_side_ == side::device) {
      fetch();
      newer_side_ = side::equal;
    }
    return host_.span();
  }
  /// The host's copy, for reading and writing until the device's is used.
  [[nodiscard]] std::span<float> write() {
    static_cast<void>(read());
    math_->finish(upload_event_);
    newer_side_ = side::host;
    return host_.span();
  }
  /// True if the device has yet to receive the host's writes.
  [[nodiscard]] bool host_is_newer() const noexcept { return newer_side_ == side::host; }
  /// The device's copy, for reading by work in the math's stream.
  [[nodiscard]] float* on_device() {
    if (newer_side_ == side::host && size_ != 0) {
      math_->upload(math_->stream(), device_.data(), host_.bytes(), size_ * sizeof(float));
      math_->record(upload_event_, math_->stream());
    }
    newer_side_ = newer_side_ == side::host ? side::equal : newer_side_;
    return device_.floats();
  }
  /// The device's copy, for reading and writing there.
  [[nodiscard]] float* change_on_device() {
    float* const first = on_device();
    newer_side_ = side::device;
    return first;
  }
  /// The device address, which never changes; does not update the copy.
  [[nodiscard]] float* address() const noexcept { return device_.floats(); }

 private:
  enum class side { equal, host, device };

  void fetch() {
    if (size_ != 0) {
      download_now(*math_, host_.bytes(), device_.data(), size_ * sizeof(float));
    }
  }

  M* math_;
  std::size_t size_;
  buffer<M> device_;
  pinned_buffer<M, float> host_;
  typename M::event_type upload_event_;
  side newer_side_ = side::host;
};

}  // namespace tutti::nn::detail::device
