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

inline thread_local int current = 0;  ///< the thread's device
inline thread_local cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;
inline thread_local bool in_host_function = false;  ///< true in a function called by a stream

using lock_type = std::unique_lock<std::mutex>;

/// Records the thread's last error.
cudaError_t record_error(cudaError_t code);

/// Returns success if this thread may use devices.
[[nodiscard]] cudaError_t enter();

/// Invalidates captures that forbid this thread calls that cannot be captured.
[[nodiscard]] cudaError_t invalidate_captures(lock_type const&);

/// Makes a CUDA call if this thread may use devices.
template <class F>
cudaError_t call(F const& f) {
  cudaError_t const code = enter();
  return record_error(code == cudaSuccess ? f() : code);
}
/// Makes a call while holding the machine's mutex.
template <class F>
cudaError_t locked_call(F const& f) {
  return call([&] {
    lock_type lock(machine::get().mutex);
    return f(lock);
  });
}
/// Makes a call that cannot be captured: invalidates the captures that forbid it.
template <class F>
cudaError_t uncaptured_call(F const& f) {
  return locked_call([&](lock_type& lock) {
    cudaError_t const code = invalidate_captures(lock);
    return code == cudaSuccess ? f(lock) : code;
  });
}

/// Valid handles. Using any other handle ends the program, as its effect is undefined.
template <class Handle>
class handles {
 public:
  void add(Handle h) { valid_.insert(h); }
  void remove(Handle h, char const* name) {
    expect(h, name);
    valid_.erase(h);
  }
  void expect(Handle h, char const* name) const {
    if (!valid_.contains(h)) {
      fail(std::string(name) + " is used that does not exist, or no longer");
    }
  }

 private:
  std::set<Handle> valid_;
};

/// Handles that were created and not yet destroyed; guarded by the machine's mutex.
struct all_handles {
  handles<cudaStream_t> streams;
  handles<cudaEvent_t> events;
  handles<cudaGraph_t> graphs;
  handles<cudaGraphExec_t> executables;
  std::vector<std::shared_ptr<capture_state>> captures;
  unsigned long long capture_count = 0;

  [[nodiscard]] static all_handles& get();
};

/// Detaches the capture's streams, which work normally again.
void end_capture(capture_state& c);
/// Invalidates a capture after a forbidden call. @returns the code
cudaError_t invalidate(std::shared_ptr<capture_state> const& capture, cudaError_t code);

/// The stream that a handle denotes.
[[nodiscard]] cudaStream_t stream_of(cudaStream_t handle, lock_type const&);
/// A capture of a stream that synchronises with this one, the default stream.
[[nodiscard]] std::shared_ptr<capture_state> blocking_capture(cudaStream_t s);
/// Returns success if a stream accepts work. The default stream does not while a blocking stream is captured.
[[nodiscard]] cudaError_t expect_no_blocking_capture(cudaStream_t s);

using body_type = std::function<void(device_state&)>;

/// Enqueues work on a stream, or adds it to the stream's capture. @param begin waits for earlier work
/// @param result receives the completion, if there is no capture
cudaError_t enqueue(cudaStream_t s, body_type body, std::function<void()> begin = nullptr,
                    completion_ptr* result = nullptr);

/// Waits on the host. Ends a program that would wait forever.
void wait_for(lock_type& lock, std::vector<completion_ptr> const& work, std::string const& caller);
/// Waits until the device has done all its present work.
void wait_for_all(lock_type& lock, device_state const& d, std::string const& caller);

/// One end of a copy.
struct place {
  std::byte* host_address = nullptr;
  bool is_on_device = false;
  bool is_pinned = false;
};
/// @returns nothing if the bytes are not in one allocation
[[nodiscard]] std::optional<place> place_of(void const* p, std::size_t bytes);

/// True if there is a device of that number.
[[nodiscard]] bool is_device(int number);

}  // namespace emulated_gpu
