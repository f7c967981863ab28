// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/extend/error.hpp>

#include <string>
#include <utility>

namespace tutti::inline v0_1_0::cuda {

/// A queue of work for the current device. Work runs in the order in which it is enqueued, while the host continues.
/// Wraps a cudaStream_t, its own or another's.
///
/// Thread safety: that of CUDA's streams; one thread at a time moves or destroys it.
class stream {
 public:
  /// A new stream, which does not wait for the default stream. @throws cuda::error
  stream() : is_own_(true) {
    detail::runtime::examine(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking),
                             [] { return std::string("making a stream of CUDA"); });
  }
  /// Refers to the caller's stream, which must outlive this object.
  explicit stream(cudaStream_t s) noexcept : stream_(s) {}
  /// Takes the stream of `other`.
  stream(stream&& other) noexcept
      : stream_(std::exchange(other.stream_, nullptr)), is_own_(std::exchange(other.is_own_, false)) {}
  /// Takes the stream of `other`; the old one is released.
  stream& operator=(stream&& other) noexcept {
    std::swap(stream_, other.stream_);
    std::swap(is_own_, other.is_own_);
    return *this;
  }
  /// Lets enqueued work run; an own stream is freed after it.
  ~stream() {
    if (is_own_) {
      static_cast<void>(cudaStreamDestroy(stream_));
    }
  }

  /// CUDA's handle.
  [[nodiscard]] cudaStream_t native() const noexcept { return stream_; }

  /// Blocks until everything enqueued has run. @throws cuda::error if some of it failed
  void wait() const {
    detail::runtime::examine(cudaStreamSynchronize(stream_),
                             [] { return std::string("waiting for a stream of CUDA"); });
  }

 private:
  cudaStream_t stream_ = nullptr;
  bool is_own_ = false;
};

}  // namespace tutti::cuda
