// SPDX-License-Identifier: Apache-2.0
//
// libcudart of an emulated GPU: what tutti takes of CUDA's runtime, so that programs of nvcc run where there is no GPU.
// Errors are those that CUDA's documents name; where a program would hang or fail silently, it is ended with a message.
#include "runtime.hpp"

#include <algorithm>
#include <pthread.h>
#include <utility>

namespace emulated_gpu {

all_streams& all_streams::get() {
  static all_streams* const one = new all_streams;
  return *one;
}

cudaError_t enter() {
  machine& m = machine::get();
  static bool const watches = pthread_atfork(nullptr, nullptr, [] {
                                machine& of = machine::get();
                                of.of_a_parent = of.of_a_parent || of.used;
                              }) == 0;
  if (!watches || m.of_a_parent) {
    return cudaErrorInitializationError;
  }
  m.used = true;
  return m.devices.empty() ? cudaErrorNoDevice : cudaSuccess;
}

cudaError_t spoil_captures(lock_type const&) {
  bool spoilt = false;
  for (auto const& c : all_streams::get().captures) {
    bool const own = c->by == std::this_thread::get_id();
    bool const forbids =
        (own && c->mode != cudaStreamCaptureModeRelaxed) || (!own && c->mode == cudaStreamCaptureModeGlobal);
    bool const heeds =
        capture_mode == cudaStreamCaptureModeGlobal || (capture_mode == cudaStreamCaptureModeThreadLocal && own);
    if (forbids && heeds) {
      c->valid = false;
      spoilt = true;
    }
  }
  return spoilt ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}

cudaStream_t stream_of(cudaStream_t handle, lock_type const&) {
  if (handle != nullptr && handle != cudaStreamLegacy) {
    return all_streams::get().of_all.contains(handle) ? handle : nullptr;
  }
  device_state& d = machine::get().device(current);
  if (d.default_stream == nullptr) {
    d.default_stream = new CUstream_st(d, 0, 0);
    all_streams::get().of_all.insert(d.default_stream);
  }
  return d.default_stream;
}

completion_ptr put(cudaStream_t s, body_type body, std::function<void()> begin) {
  device_state& d = s->device;
  if (s->capture) {
    s->capture->nodes.push_back({std::move(body), s->after});
    s->after = {s->capture->nodes.size() - 1};
    return nullptr;
  }
  std::vector<completion_ptr> first;
  if (s == d.default_stream) {
    for (cudaStream_t const other : d.blocking) {
      first.push_back(other->last);
    }
  } else if ((s->flags & cudaStreamNonBlocking) == 0 && d.default_stream != nullptr) {
    first.push_back(d.default_stream->last);
  }
  return s->put(
      [first = std::move(first), begin = std::move(begin)] {
        for (completion_ptr const& c : first) {
          if (c != nullptr) {
            wait_for(c);
          }
        }
        if (begin) {
          begin();
        }
      },
      [body = std::move(body), &d] { body(d); });
}

void wait_for_all(lock_type& lock, device_state const& d, std::string const& who) {
  auto const idle = [&] {
    auto const& all = all_streams::get().of_all;
    return std::all_of(all.begin(), all.end(), [&](cudaStream_t s) { return &s->device != &d || s->is_done(); });
  };
  if (!machine::get().changed.wait_for(lock, std::chrono::seconds(setting("EMULATED_GPU_PATIENCE", 120)), idle)) {
    fail(who + " waits for work of device " + std::to_string(d.number) + " that does not end");
  }
}

std::optional<place> place_of(void const* p, std::size_t bytes) {
  auto const address = reinterpret_cast<std::uint64_t>(p);
  if (auto const found = machine::get().memory.find(address, bytes)) {
    return place{found->here + (address - found->first), found->device != region::of_host, true};
  }
  if ((address & memory_map::of_device) != 0) {
    return std::nullopt;
  }
  return place{static_cast<std::byte*>(const_cast<void*>(p)), false, false};
}

}  // namespace emulated_gpu

using namespace emulated_gpu;

extern "C" {

cudaError_t cudaGetLastError() {
  return std::exchange(last_error, cudaSuccess);
}
char const* cudaGetErrorName(cudaError_t code) {
  switch (code) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInitializationError:
      return "cudaErrorInitializationError";
    case cudaErrorInvalidDeviceFunction:
      return "cudaErrorInvalidDeviceFunction";
    case cudaErrorNoDevice:
      return "cudaErrorNoDevice";
    case cudaErrorInvalidDevice:
      return "cudaErrorInvalidDevice";
    case cudaErrorInvalidResourceHandle:
      return "cudaErrorInvalidResourceHandle";
    case cudaErrorNotReady:
      return "cudaErrorNotReady";
    case cudaErrorPeerAccessAlreadyEnabled:
      return "cudaErrorPeerAccessAlreadyEnabled";
    case cudaErrorStreamCaptureUnsupported:
      return "cudaErrorStreamCaptureUnsupported";
    case cudaErrorStreamCaptureInvalidated:
      return "cudaErrorStreamCaptureInvalidated";
    case cudaErrorStreamCaptureIsolation:
      return "cudaErrorStreamCaptureIsolation";
    default:
      return "an error of the emulated GPU";
  }
}
char const* cudaGetErrorString(cudaError_t code) {
  return code == cudaErrorNoDevice ? "no CUDA-capable device is detected" : cudaGetErrorName(code);
}

}  // extern "C"
