// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/detail/runtime/current_device.hpp>
#include <tutti/cuda/devices.hpp>
#include <tutti/cuda/error.hpp>
#include <tutti/cuda/stream.hpp>

#include <cstddef>
#include <string>
#include <utility>

namespace tutti::inline v0_1_0::nn::detail::runtime {

using tutti::detail::runtime::current_device;
using tutti::detail::runtime::examine;

/// A point in a stream, as last recorded; none at first. The CUDA event is created by the first recording, on that
/// device, so the constructor does not call CUDA.
class event {
 public:
  event() noexcept = default;
  event(event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  event& operator=(event&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  ~event() {
    if (event_ != nullptr) {
      static_cast<void>(cudaEventDestroy(event_));
    }
  }

  /// @pre the stream belongs to the current device
  void record(cudaStream_t stream) {
    if (event_ == nullptr) {
      examine(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming),
              [] { return std::string("making an event of CUDA"); });
    }
    examine(cudaEventRecord(event_, stream), [] { return std::string("recording an event in a stream of CUDA"); });
  }
  /// CUDA's handle; null if never recorded.
  [[nodiscard]] cudaEvent_t native() const noexcept { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Memory, streams and events of one device, for any current device of the thread; see
/// `device::device_memory_and_order`.
class memory_and_order {
 public:
  using stream_type = tutti::cuda::stream;
  using event_type = event;

  [[nodiscard]] static int devices() { return tutti::cuda::devices(); }
  /// Makes the device current in this thread.
  explicit memory_and_order(int number) : number_(make_current(number)) {}

  /// CUDA's number of the device.
  [[nodiscard]] int number() const noexcept { return number_; }

  [[nodiscard]] std::byte* allocate(std::size_t bytes) const {
    current_device const guard(number_);
    void* p = nullptr;
    examine(cudaMalloc(&p, bytes), [=] { return "allocating " + std::to_string(bytes) + " bytes of device memory"; });
    return static_cast<std::byte*>(p);
  }
  /// CUDA returns whole pages, which are aligned to far more than 256 bytes.
  [[nodiscard]] std::byte* allocate_host(std::size_t bytes) const {
    current_device const guard(number_);
    void* p = nullptr;
    examine(cudaHostAlloc(&p, bytes, cudaHostAllocPortable),
            [=] { return "allocating " + std::to_string(bytes) + " bytes of host memory whose pages are pinned"; });
    return static_cast<std::byte*>(p);
  }
  void free(std::byte* p) const noexcept { static_cast<void>(cudaFree(p)); }
  void free_host(std::byte* p) const noexcept { static_cast<void>(cudaFreeHost(p)); }

  [[nodiscard]] stream_type& stream() noexcept { return stream_; }
  [[nodiscard]] stream_type another_stream() const {
    current_device const guard(number_);
    return {};
  }

  void upload(stream_type& stream, std::byte* destination, std::byte const* source, std::size_t bytes) const {
    move(stream, destination, source, bytes, cudaMemcpyHostToDevice);
  }
  void download(stream_type& stream, std::byte* destination, std::byte const* source, std::size_t bytes) const {
    move(stream, destination, source, bytes, cudaMemcpyDeviceToHost);
  }
  void copy(std::byte* destination, std::byte const* source, std::size_t bytes) const {
    move(stream_, destination, source, bytes, cudaMemcpyDeviceToDevice);
  }
  void clear(std::byte* destination, std::size_t bytes) const {
    current_device const guard(number_);
    examine(cudaMemsetAsync(destination, 0, bytes, stream_.native()),
            [=] { return "clearing " + std::to_string(bytes) + " bytes of device memory"; });
  }

  void record(event_type& e, stream_type& stream) const {
    current_device const guard(number_);
    e.record(stream.native());
  }
  void hold(stream_type& stream, event_type& e) const {
    if (e.native() != nullptr) {
      current_device const guard(number_);
      examine(cudaStreamWaitEvent(stream.native(), e.native(), 0),
              [] { return std::string("putting an event into a stream of CUDA"); });
    }
  }
  [[nodiscard]] bool has_run(event_type& e) const {
    if (e.native() == nullptr) {
      return true;
    }
    cudaError_t const code = cudaEventQuery(e.native());
    if (code == cudaErrorNotReady) {
      static_cast<void>(cudaGetLastError());
      return false;
    }
    examine(code, [] { return std::string("asking whether work of a GPU has run"); });
    return true;
  }
  void finish(event_type& e) const {
    if (e.native() != nullptr) {
      examine(cudaEventSynchronize(e.native()), [] { return std::string("waiting for work of a GPU"); });
    }
  }

 protected:
  [[nodiscard]] cudaStream_t native() const noexcept { return stream_.native(); }

 private:
  /// Selects the device before its stream is made.
  [[nodiscard]] static int make_current(int number) {
    examine(cudaSetDevice(number), [=] { return "taking device " + std::to_string(number) + " of CUDA"; });
    return number;
  }
  void move(stream_type const& stream, std::byte* destination, std::byte const* source, std::size_t bytes,
            cudaMemcpyKind direction) const {
    current_device const guard(number_);
    examine(cudaMemcpyAsync(destination, source, bytes, direction, stream.native()),
            [=] { return "copying " + std::to_string(bytes) + " bytes of a GPU"; });
  }

  int number_;
  stream_type stream_;
};

/// Device memory that grows, for temporary data of one operation after another.
class scratch {
 public:
  scratch() noexcept = default;
  scratch(scratch&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  scratch& operator=(scratch&& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~scratch() { static_cast<void>(cudaFree(first_)); }

  /// Grows to at least `bytes` bytes. CUDA first waits for all work that uses the old memory; its contents are lost.
  void reserve(std::size_t bytes, memory_and_order const& device) {
    if (bytes > bytes_) {
      static_cast<void>(cudaFree(std::exchange(first_, nullptr)));
      bytes_ = 0;
      first_ = device.allocate(bytes);
      bytes_ = bytes;
    }
  }
  [[nodiscard]] std::byte* data() const noexcept { return first_; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_; }

 private:
  std::byte* first_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace tutti::nn::detail::runtime
