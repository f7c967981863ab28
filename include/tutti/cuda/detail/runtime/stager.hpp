// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/detail/device/stager.hpp>
#include <tutti/cuda/detail/runtime/current_device.hpp>
#include <tutti/cuda/detail/runtime/stream_memory.hpp>
#include <tutti/cuda/detail/runtime/unused_memory.hpp>
#include <tutti/cuda/extend/devices.hpp>
#include <tutti/cuda/extend/error.hpp>
#include <tutti/cuda/extend/stream.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tutti::inline v0_1_0::detail::runtime {

/// A stream for copies, with the highest priority. Streams of one priority share hardware queues only with each other,
/// so this one is never queued behind a held stream.
class copy_stream {
 public:
  copy_stream() {
    int lowest = 0;
    int highest = 0;
    examine(cudaDeviceGetStreamPriorityRange(&lowest, &highest),
            [] { return std::string("asking for the priorities of CUDA's streams"); });
    examine(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, highest),
            [] { return std::string("making a stream of CUDA"); });
  }
  copy_stream(copy_stream const&) = delete;
  copy_stream& operator=(copy_stream const&) = delete;
  ~copy_stream() { static_cast<void>(cudaStreamDestroy(stream_)); }

  [[nodiscard]] cudaStream_t native() const noexcept { return stream_; }
  void copy(std::byte* destination, std::byte const* source, std::size_t bytes, cudaMemcpyKind direction) const {
    examine(cudaMemcpyAsync(destination, source, bytes, direction, stream_),
            [bytes] { return "copying " + std::to_string(bytes) + " bytes between host and device"; });
  }
  void wait() const {
    examine(cudaStreamSynchronize(stream_), [] { return std::string("waiting for copies between host and device"); });
  }

 private:
  cudaStream_t stream_ = nullptr;
};

/// A CUDA device whose elements are copied to host memory and back; see `device::stager`.
class stager {
 public:
  static constexpr std::string_view name = "cuda_staged";
  using stream_type = tutti::cuda::stream;

  /// A CUDA event.
  class mark {
   public:
    mark() noexcept = default;
    mark(mark const&) = delete;
    mark& operator=(mark const&) = delete;
    ~mark() {
      if (event_ != nullptr) {
        static_cast<void>(cudaEventDestroy(event_));
      }
    }
    void set(stream_type const& stream) {
      auto const purpose = [] { return std::string("putting an event into a stream of CUDA"); };
      if (event_ == nullptr) {
        int device = 0;
        examine(cudaStreamGetDevice(stream.native(), &device), purpose);
        current_device const guard(device);
        examine(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), purpose);
      }
      examine(cudaEventRecord(event_, stream.native()), purpose);
    }
    [[nodiscard]] bool has_passed() const {
      relaxed_capture const capture_guard;
      return has_run(cudaEventQuery(event_), [] { return std::string("asking for an event of CUDA"); });
    }

   private:
    cudaEvent_t event_ = nullptr;
  };

  [[nodiscard]] static int devices() { return tutti::cuda::devices(); }
  explicit stager(int number) : number_(make_current(number)), memory_(number) {}

  [[nodiscard]] std::byte* allocate_for_all(std::size_t bytes) const {
    current_device const guard(number_);
    return pinned_memory(bytes);
  }
  static void free_for_all(std::byte* p) noexcept { unused_memory::give_back(p); }

  [[nodiscard]] static bool is_captured(stream_type const& stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    examine(cudaStreamIsCapturing(stream.native(), &status),
            [] { return std::string("asking whether a stream of CUDA is captured"); });
    return status != cudaStreamCaptureStatusNone;
  }
  void hold(stream_type const& stream, std::uint64_t* word, std::uint64_t value) const {
    current_device const guard(number_);
    memory_.wait(stream.native(), word, value);
  }
  void download(std::byte* destination, std::byte const* source, std::size_t bytes) const {
    current_device const guard(number_);
    download_stream_.copy(destination, source, bytes, cudaMemcpyDeviceToHost);
  }
  void upload(std::byte* destination, std::byte const* source, std::size_t bytes) const {
    current_device const guard(number_);
    upload_stream_.copy(destination, source, bytes, cudaMemcpyHostToDevice);
  }
  void signal_downloads(std::uint64_t* word, std::uint64_t value) const {
    current_device const guard(number_);
    memory_.write(download_stream_.native(), word, value);
  }
  void signal_uploads(std::uint64_t* word, std::uint64_t value) const {
    current_device const guard(number_);
    memory_.write(upload_stream_.native(), word, value);
  }
  [[nodiscard]] bool is_done(stream_type const& stream) const {
    relaxed_capture const capture_guard;
    return has_run(cudaStreamQuery(stream.native()),
                   [] { return std::string("asking whether a stream of CUDA has run"); });
  }
  void finish() const {
    relaxed_capture const capture_guard;
    download_stream_.wait();
    upload_stream_.wait();
  }

 private:
  /// Interprets the result of a query.
  template <class Purpose>
  [[nodiscard]] static bool has_run(cudaError_t code, Purpose const& purpose) {
    if (code == cudaErrorNotReady) {
      static_cast<void>(cudaGetLastError());
      return false;
    }
    examine(code, purpose);
    return true;
  }
  /// Selects the device before its streams are made.
  [[nodiscard]] static int make_current(int number) {
    examine(cudaSetDevice(number), [=] { return "taking device " + std::to_string(number) + " of CUDA"; });
    return number;
  }

  unused_memory::user user_;  ///< declared first, so that it outlives all other members
  int number_;
  stream_memory memory_;
  copy_stream download_stream_;
  copy_stream upload_stream_;
};
static_assert(device::stager<stager>);

}  // namespace tutti::detail::runtime
