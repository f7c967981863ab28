// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/extend/error.hpp>

#include <string>

namespace tutti::inline v0_1_0::detail::runtime {

/// Makes a device current, and restores the previous one at the end.
class current_device {
 public:
  explicit current_device(int number) {
    examine(cudaGetDevice(&previous_), [] { return std::string("asking for the current device of CUDA"); });
    if (previous_ != number) {
      examine(cudaSetDevice(number), [&] { return "taking device " + std::to_string(number) + " of CUDA"; });
    }
    has_changed_ = previous_ != number;
  }
  current_device(current_device const&) = delete;
  current_device& operator=(current_device const&) = delete;
  ~current_device() {
    if (has_changed_) {
      static_cast<void>(cudaSetDevice(previous_));
    }
  }

 private:
  int previous_ = 0;
  bool has_changed_ = false;
};

/// Allows this thread to allocate and copy while another thread captures a stream.
class relaxed_capture {
 public:
  relaxed_capture() noexcept { static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  relaxed_capture(relaxed_capture const&) = delete;
  relaxed_capture& operator=(relaxed_capture const&) = delete;
  ~relaxed_capture() { static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode_)); }

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace tutti::detail::runtime
