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

inline thread_local int current = 0;  ///< device
inline thread_local cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;
inline thread_local bool in_host_function = false;  ///< that a stream has called

using lock_type = std::unique_lock<std::mutex>;

/// Keeps the thread's last error.
cudaError_t ended(cudaError_t code);

/// Whether this thread may use devices.
[[nodiscard]] cudaError_t enter();

/// Captures that forbid this thread what cannot be captured: such a call spoils them.
[[nodiscard]] cudaError_t spoil_captures(lock_type const&);

/// Runs a call of CUDA if this thread may use devices.
template <class F>
cudaError_t call(F const& f) {
  cudaError_t const code = enter();
  return ended(code == cudaSuccess ? f() : code);
}
/// With the machine's mutex.
template <class F>
cudaError_t locked_call(F const& f) {
  return call([&] {
    lock_type lock(machine::get().mutex);
    return f(lock);
  });
}
/// One that cannot be captured: captures that forbid it are spoilt.
template <class F>
cudaError_t uncaptured_call(F const& f) {
  return locked_call([&](lock_type& lock) {
    cudaError_t const code = spoil_captures(lock);
    return code == cudaSuccess ? f(lock) : code;
  });
}

/// Handles that stand for something. Using another one ends the program: what happens then is not defined.
template <class Handle>
class handles {
 public:
  void add(Handle h) { all_.insert(h); }
  void remove(Handle h, char const* what) {
    expect(h, what);
    all_.erase(h);
  }
  void expect(Handle h, char const* what) const {
    if (!all_.contains(h)) {
      fail(std::string(what) + " is used that does not exist, or no longer");
    }
  }

 private:
  std::set<Handle> all_;
};

/// What has been made and not destroyed; under the machine's mutex.
struct all_handles {
  handles<cudaStream_t> streams;
  handles<cudaEvent_t> events;
  handles<cudaGraph_t> graphs;
  handles<cudaGraphExec_t> executables;
  std::vector<std::shared_ptr<capture_state>> captures;
  unsigned long long captured = 0;

  [[nodiscard]] static all_handles& get();
};

/// Lets its streams go on without it.
void end_capture(capture_state& c);
/// What forbids a call in a capture spoils it. @returns the code
cudaError_t spoil(std::shared_ptr<capture_state> const& capture, cudaError_t code);

/// The stream that a handle stands for.
[[nodiscard]] cudaStream_t stream_of(cudaStream_t handle, lock_type const&);
/// A capture of a stream that waits for this one, which is the default stream.
[[nodiscard]] std::shared_ptr<capture_state> captured_beside(cudaStream_t s);
/// Whether a stream takes work: the default stream does not while one that waits for it is captured.
[[nodiscard]] cudaError_t expect_no_capture_beside(cudaStream_t s);

using body_type = std::function<void(device_state&)>;

/// Puts work into a stream, or into what is captured of it. @param begin what it waits for
/// @param done where there is no capture, when it is
cudaError_t put(cudaStream_t s, body_type body, std::function<void()> begin = nullptr, completion_ptr* done = nullptr);

/// Waits on the host, which a program that would wait forever does not survive.
void wait_for(lock_type& lock, std::vector<completion_ptr> const& all, std::string const& who);
/// Until the device has done what it has to do now.
void wait_for_all(lock_type& lock, device_state const& d, std::string const& who);

/// One end of a copy.
struct place {
  std::byte* here = nullptr;
  bool of_device = false;
  bool pinned = false;
};
/// @returns none if it is not all in one piece of memory
[[nodiscard]] std::optional<place> place_of(void const* p, std::size_t bytes);

/// Whether there is a device of that number.
[[nodiscard]] bool is_device(int number);

}  // namespace emulated_gpu
