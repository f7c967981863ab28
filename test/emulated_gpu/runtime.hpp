// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "work.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace emulated_gpu {

inline thread_local cudaError_t last_error = cudaSuccess;
inline thread_local int current = 0;  ///< device
inline thread_local cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;

inline cudaError_t ended(cudaError_t code) {
  if (code != cudaSuccess) {
    last_error = code;
  }
  return code;
}

/// Streams that have not been destroyed, and captures that have not ended; under the machine's mutex.
struct all_streams {
  std::set<cudaStream_t> of_all;
  std::vector<std::shared_ptr<capture_state>> captures;
  unsigned long long captured = 0;

  [[nodiscard]] static all_streams& get();
};

using lock_type = std::unique_lock<std::mutex>;

/// Whether this process may use devices.
[[nodiscard]] cudaError_t enter();

/// Captures that forbid this thread what cannot be captured: such a call spoils them.
[[nodiscard]] cudaError_t spoil_captures(lock_type const&);

/// The stream that a handle stands for; null if there is none.
[[nodiscard]] cudaStream_t stream_of(cudaStream_t handle, lock_type const&);

using body_type = std::function<void(device_state&)>;

/// Puts work into a stream, or into what is captured of it.
completion_ptr put(cudaStream_t s, body_type body, std::function<void()> begin = nullptr);

/// Waits until the device has nothing to do; a program that would wait forever is ended.
void wait_for_all(lock_type& lock, device_state const& d, std::string const& who);

/// One end of a copy.
struct place {
  std::byte* here = nullptr;
  bool of_device = false;
  bool pinned = false;
};
[[nodiscard]] std::optional<place> place_of(void const* p, std::size_t bytes);

}  // namespace emulated_gpu
