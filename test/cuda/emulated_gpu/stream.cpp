// SPDX-License-Identifier: Apache-2.0
//
// Streams and events.
#include "runtime.hpp"

#include <chrono>

namespace emulated_gpu {

namespace {

cudaError_t make_stream(cudaStream_t* result, unsigned flags, unsigned priority) {
  return locked_call([&](lock_type const&) {
    device_state& d = machine::get().device(current);
    *result = new CUstream_st(d, flags, priority);
    all_handles::get().streams.add(*result);
    if ((flags & cudaStreamNonBlocking) == 0) {
      d.blocking.push_back(*result);
    }
    return cudaSuccess;
  });
}
/// Finds the last work of a stream that must not be captured.
cudaError_t last_work(cudaStream_t handle, lock_type const& lock, completion_ptr& last) {
  cudaStream_t const s = stream_of(handle, lock);
  last = s->last;
  return s->capture ? invalidate(s->capture, cudaErrorStreamCaptureUnsupported) : expect_no_blocking_capture(s);
}
/// Finds the work recorded by an event that must not be captured.
cudaError_t recorded_work(cudaEvent_t e, completion_ptr& work) {
  if (e == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  all_handles::get().events.expect(e, "an event");
  work = e->work;
  return e->capture ? invalidate(e->capture, cudaErrorCapturedEvent) : cudaSuccess;
}
[[nodiscard]] bool is_done(completion_ptr const& c) {
  return c == nullptr || c->is_done;
}

/// Makes a stream wait for a capture's event; the stream joins the capture.
cudaError_t join(cudaStream_t s, CUevent_st const& e) {
  if (cudaError_t const code = expect_no_blocking_capture(s); code != cudaSuccess) {
    return code;
  }
  if (!e.capture->is_valid || e.capture->has_ended) {
    return e.capture->has_ended ? cudaErrorCapturedEvent : cudaErrorStreamCaptureInvalidated;
  }
  if (s == s->device.default_stream) {
    return invalidate(e.capture, cudaErrorStreamCaptureImplicit);
  }
  if (s->capture != nullptr && s->capture != e.capture) {
    static_cast<void>(invalidate(s->capture, cudaErrorStreamCaptureMerge));
    return invalidate(e.capture, cudaErrorStreamCaptureMerge);
  }
  if (s->capture == nullptr) {
    s->capture = e.capture;
    s->capture->streams.insert(s);
    s->predecessors.clear();
  }
  s->predecessors.insert(e.predecessors.begin(), e.predecessors.end());
  return cudaSuccess;
}

/// Queries a stream. This invalidates the stream's capture, as a driver of version 580 does.
template <class Answer>
cudaError_t ask(cudaStream_t stream, Answer const& answer) {
  return locked_call([&](lock_type const& lock) {
    cudaStream_t const s = stream_of(stream, lock);
    if (s->capture != nullptr) {
      return s->capture->is_valid ? invalidate(s->capture, cudaErrorStreamCaptureUnsupported)
                                  : cudaErrorStreamCaptureInvalidated;
    }
    answer(*s);
    return cudaSuccess;
  });
}

}  // namespace

}  // namespace emulated_gpu

using namespace emulated_gpu;

extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* result, unsigned flags) {
  return make_stream(result, flags, 0);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* result, unsigned flags, int priority) {
  return make_stream(result, flags, priority < 0 ? 1U : 0U);
}
cudaError_t cudaStreamDestroy(cudaStream_t s) {
  return locked_call([&](lock_type const&) {
    if (s == nullptr || s == cudaStreamLegacy) {
      return cudaErrorInvalidResourceHandle;
    }
    all_handles::get().streams.remove(s, "a stream");
    std::erase(s->device.blocking, s);
    if (s->capture != nullptr) {
      s->capture->is_valid = false;
      s->capture->streams.erase(s);
      if (s->capture->origin == s) {
        end_capture(*s->capture);
      }
    }
    s->end();
    return cudaSuccess;
  });
}
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  return ask(stream, [=](CUstream_st const& s) { *flags = s.flags; });
}
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  return ask(stream, [=](CUstream_st const& s) { *id = s.number; });
}
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  return ask(stream, [=](CUstream_st const& s) { *device = s.device.number; });
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return uncaptured_call([&](lock_type const& lock) {
    completion_ptr last;
    cudaError_t const code = last_work(stream, lock, last);
    return code != cudaSuccess || is_done(last) ? code : cudaErrorNotReady;
  });
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return uncaptured_call([&](lock_type& lock) {
    completion_ptr last;
    cudaError_t const code = last_work(stream, lock, last);
    if (code == cudaSuccess) {
      wait_for(lock, {last}, "cudaStreamSynchronize");
    }
    return code;
  });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t e, unsigned flags) {
  return locked_call([&](lock_type const& lock) {
    cudaStream_t const s = stream_of(stream, lock);
    if (e == nullptr || flags != cudaEventWaitDefault) {
      return e == nullptr ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue;
    }
    all_handles::get().events.expect(e, "an event");
    if (e->capture != nullptr) {
      return join(s, *e);
    }
    if (s->capture != nullptr) {
      return invalidate(s->capture, cudaErrorStreamCaptureIsolation);
    }
    return enqueue(
        s, [](device_state&) {}, [work = e->work] { wait_for(work); });
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* result, unsigned flags) {
  return locked_call([&](lock_type const&) {
    *result = new CUevent_st{current, flags, nullptr, nullptr, {}};
    all_handles::get().events.add(*result);
    return cudaSuccess;
  });
}
cudaError_t cudaEventCreate(cudaEvent_t* result) {
  return cudaEventCreateWithFlags(result, cudaEventDefault);
}
cudaError_t cudaEventDestroy(cudaEvent_t e) {
  return locked_call([&](lock_type const&) {
    if (e == nullptr) {
      return cudaErrorInvalidResourceHandle;
    }
    all_handles::get().events.remove(e, "an event");
    delete e;
    return cudaSuccess;
  });
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t stream) {
  return locked_call([&](lock_type const& lock) {
    cudaStream_t const s = stream_of(stream, lock);
    if (e == nullptr) {
      return cudaErrorInvalidResourceHandle;
    }
    all_handles::get().events.expect(e, "an event");
    if (e->device != s->device.number) {
      return cudaErrorInvalidResourceHandle;
    }
    if (s->capture != nullptr) {
      e->capture = s->capture;
      e->predecessors = s->predecessors;
      e->work = nullptr;
      return s->capture->is_valid ? cudaSuccess : cudaErrorStreamCaptureInvalidated;
    }
    cudaError_t const code = enqueue(
        s, [](device_state&) {}, nullptr, &e->work);
    e->capture = nullptr;
    return code;
  });
}
cudaError_t cudaEventQuery(cudaEvent_t e) {
  return uncaptured_call([&](lock_type const&) {
    completion_ptr work;
    cudaError_t const code = recorded_work(e, work);
    return code != cudaSuccess || is_done(work) ? code : cudaErrorNotReady;
  });
}
cudaError_t cudaEventSynchronize(cudaEvent_t e) {
  return uncaptured_call([&](lock_type& lock) {
    completion_ptr work;
    cudaError_t const code = recorded_work(e, work);
    if (code == cudaSuccess) {
      wait_for(lock, {work}, "cudaEventSynchronize");
    }
    return code;
  });
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end) {
  return locked_call([&](lock_type const&) {
    completion_ptr first;
    completion_ptr last;
    for (auto const& [e, work] : {std::pair(begin, &first), std::pair(end, &last)}) {
      if (cudaError_t const code = recorded_work(e, *work); code != cudaSuccess) {
        return code;
      }
      if (*work == nullptr || (e->flags & cudaEventDisableTiming) != 0 || e->device != begin->device) {
        return cudaErrorInvalidResourceHandle;
      }
    }
    if (!first->is_done || !last->is_done) {
      return cudaErrorNotReady;
    }
    *ms = std::chrono::duration<float, std::milli>(last->time - first->time).count();
    return cudaSuccess;
  });
}

}  // extern "C"
