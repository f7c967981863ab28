// SPDX-License-Identifier: Apache-2.0
//
// libcudart of an emulated GPU: the part of CUDA's runtime used by tutti, so that programs of nvcc run without a GPU.
// Errors follow CUDA's documents. A program that would hang or fail silently is ended with a message.
#include "runtime.hpp"

#include <algorithm>
#include <pthread.h>
#include <thread>
#include <utility>

namespace emulated_gpu {

namespace {

thread_local cudaError_t last_error = cudaSuccess;

}  // namespace

cudaError_t record_error(cudaError_t code) {
  if (code != cudaSuccess) {
    last_error = code;
  }
  return code;
}

all_handles& all_handles::get() {
  static all_handles* const instance = new all_handles;
  return *instance;
}

cudaError_t enter() {
  machine& m = machine::get();
  static bool const watches = pthread_atfork(nullptr, nullptr, [] {
                                machine& parent = machine::get();
                                parent.is_inherited = parent.is_inherited || parent.is_used;
                              }) == 0;
  if (!watches || m.is_inherited) {
    return cudaErrorInitializationError;
  }
  if (in_host_function) {
    return cudaErrorNotPermitted;
  }
  m.is_used = true;
  return m.devices.empty() ? cudaErrorNoDevice : cudaSuccess;
}

cudaError_t invalidate(std::shared_ptr<capture_state> const& capture, cudaError_t code) {
  capture->is_valid = false;
  return code;
}
cudaError_t invalidate_captures(lock_type const&) {
  cudaError_t code = cudaSuccess;
  for (auto const& c : all_handles::get().captures) {
    bool const is_own = c->thread == std::this_thread::get_id();
    bool const forbids =
        (is_own && c->mode != cudaStreamCaptureModeRelaxed) || (!is_own && c->mode == cudaStreamCaptureModeGlobal);
    bool const applies =
        capture_mode == cudaStreamCaptureModeGlobal || (capture_mode == cudaStreamCaptureModeThreadLocal && is_own);
    if (forbids && applies) {
      code = invalidate(c, cudaErrorStreamCaptureUnsupported);
    }
  }
  return code;
}

cudaStream_t stream_of(cudaStream_t handle, lock_type const&) {
  if (handle != nullptr && handle != cudaStreamLegacy) {
    all_handles::get().streams.expect(handle, "a stream");
    return handle;
  }
  device_state& d = machine::get().device(current);
  if (d.default_stream == nullptr) {
    d.default_stream = new CUstream_st(d, 0, 0);
  }
  return d.default_stream;
}
std::shared_ptr<capture_state> blocking_capture(cudaStream_t s) {
  if (s == s->device.default_stream) {
    for (cudaStream_t const other : s->device.blocking) {
      if (other->capture != nullptr) {
        return other->capture;
      }
    }
  }
  return nullptr;
}
cudaError_t expect_no_blocking_capture(cudaStream_t s) {
  auto const capture = blocking_capture(s);
  return capture == nullptr ? cudaSuccess : invalidate(capture, cudaErrorStreamCaptureImplicit);
}

namespace {

cudaError_t capture(cudaStream_t s, body_type body, bool waits) {
  auto const& c = s->capture;
  if (!c->is_valid) {
    return cudaErrorStreamCaptureInvalidated;
  }
  if (waits) {
    return invalidate(c, cudaErrorStreamCaptureUnsupported);
  }
  c->nodes.push_back({[body = std::move(body), &d = s->device] { body(d); }, s->predecessors});
  s->predecessors = {c->nodes.size() - 1};
  return cudaSuccess;
}
/// The work that the default stream and blocking streams wait for in each other.
std::vector<completion_ptr> earlier_work(cudaStream_t s) {
  device_state const& d = s->device;
  std::vector<completion_ptr> work;
  if (s == d.default_stream) {
    for (cudaStream_t const other : d.blocking) {
      work.push_back(other->last);
    }
  } else if ((s->flags & cudaStreamNonBlocking) == 0 && d.default_stream != nullptr) {
    work.push_back(d.default_stream->last);
  }
  return work;
}

}  // namespace

cudaError_t enqueue(cudaStream_t s, body_type body, std::function<void()> begin, completion_ptr* result) {
  if (s->capture != nullptr) {
    return capture(s, std::move(body), begin != nullptr);
  }
  if (cudaError_t const code = expect_no_blocking_capture(s); code != cudaSuccess) {
    return code;
  }
  completion_ptr const last = s->enqueue(
      [earlier = earlier_work(s), begin = std::move(begin)] {
        for (completion_ptr const& c : earlier) {
          wait_for(c);
        }
        if (begin) {
          begin();
        }
      },
      [body = std::move(body), &d = s->device] { body(d); });
  if (result != nullptr) {
    *result = last;
  }
  return cudaSuccess;
}

void wait_for(lock_type& lock, std::vector<completion_ptr> const& work, std::string const& caller) {
  auto const is_done = [](completion_ptr const& c) { return c == nullptr || c->is_done; };
  bool const ends =
      machine::get().change.wait_for(lock, patience(), [&] { return std::all_of(work.begin(), work.end(), is_done); });
  if (!ends) {
    fail(caller + " waits for work that does not end");
  }
}
void wait_for_all(lock_type& lock, device_state const& d, std::string const& caller) {
  wait_for(lock, {d.pending.begin(), d.pending.end()}, caller);
}

std::optional<place> place_of(void const* p, std::size_t bytes) {
  auto const address = reinterpret_cast<std::uint64_t>(p);
  memory_map const& memory = machine::get().memory;
  if (auto const match = memory.find(address, bytes)) {
    return place{match->host_address + (address - match->first), match->device != region::no_device, true};
  }
  if ((address & memory_map::device_bit) != 0 || memory.find(address, 1)) {
    return std::nullopt;
  }
  return place{static_cast<std::byte*>(const_cast<void*>(p)), false, false};
}

bool is_device(int number) {
  return number >= 0 && static_cast<std::size_t>(number) < machine::get().devices.size();
}

}  // namespace emulated_gpu

using namespace emulated_gpu;

extern "C" {

cudaError_t cudaGetLastError() {
  return std::exchange(last_error, cudaSuccess);
}
char const* cudaGetErrorName(cudaError_t code) {
#define EMULATED_GPU_NAME(name) \
  case name:                    \
    return #name
  switch (code) {
    EMULATED_GPU_NAME(cudaSuccess);
    EMULATED_GPU_NAME(cudaErrorInvalidValue);
    EMULATED_GPU_NAME(cudaErrorMemoryAllocation);
    EMULATED_GPU_NAME(cudaErrorInitializationError);
    EMULATED_GPU_NAME(cudaErrorInvalidConfiguration);
    EMULATED_GPU_NAME(cudaErrorInvalidDeviceFunction);
    EMULATED_GPU_NAME(cudaErrorNoDevice);
    EMULATED_GPU_NAME(cudaErrorInvalidDevice);
    EMULATED_GPU_NAME(cudaErrorMapBufferObjectFailed);
    EMULATED_GPU_NAME(cudaErrorInvalidResourceHandle);
    EMULATED_GPU_NAME(cudaErrorIllegalState);
    EMULATED_GPU_NAME(cudaErrorNotReady);
    EMULATED_GPU_NAME(cudaErrorPeerAccessAlreadyEnabled);
    EMULATED_GPU_NAME(cudaErrorNotPermitted);
    EMULATED_GPU_NAME(cudaErrorStreamCaptureUnsupported);
    EMULATED_GPU_NAME(cudaErrorStreamCaptureInvalidated);
    EMULATED_GPU_NAME(cudaErrorStreamCaptureMerge);
    EMULATED_GPU_NAME(cudaErrorStreamCaptureUnmatched);
    EMULATED_GPU_NAME(cudaErrorStreamCaptureUnjoined);
    EMULATED_GPU_NAME(cudaErrorStreamCaptureIsolation);
    EMULATED_GPU_NAME(cudaErrorStreamCaptureImplicit);
    EMULATED_GPU_NAME(cudaErrorCapturedEvent);
    EMULATED_GPU_NAME(cudaErrorStreamCaptureWrongThread);
    default:
      return "an error of the emulated GPU";
  }
#undef EMULATED_GPU_NAME
}
char const* cudaGetErrorString(cudaError_t code) {
  return code == cudaErrorNoDevice ? "no CUDA-capable device is detected" : cudaGetErrorName(code);
}

}  // extern "C"
