// SPDX-License-Identifier: Apache-2.0
//
// Streams and events.
#include "runtime.hpp"

#include <chrono>

namespace emulated_gpu {

namespace {

cudaError_t make_stream(cudaStream_t* made, unsigned flags, unsigned priority) {
  return locked_call([&](lock_type const&) {
    device_state& d = machine::get().device(current);
    *made = new CUstream_st(d, flags, priority);
    all_handles::get().streams.add(*made);
    if ((flags & cudaStreamNonBlocking) == 0) {
      d.blocking.push_back(*made);
    }
    return cudaSuccess;
  });
}
/// Finds the last work of a stream that must not be captured.
cudaError_t last_of(cudaStream_t handle, lock_type const& lock, completion_ptr& last) {
  cudaStream_t const s = stream_of(handle, lock);
  last = s->last;
  return s->capture ? spoil(s->capture, cudaErrorStreamCaptureUnsupported) : expect_no_capture_beside(s);
}
/// Finds the work recorded by an event that must not be captured.
cudaError_t recorded_of(cudaEvent_t e, completion_ptr& recorded) {
  if (e == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  all_handles::get().events.expect(e, "an event");
  recorded = e->recorded;
  return e->capture ? spoil(e->capture, cudaErrorCapturedEvent) : cudaSuccess;
}
[[nodiscard]] bool is_done(completion_ptr const& c) {
  return c == nullptr || c->done;
}

/// Makes a stream wait for a capture's event; the stream joins the capture.
cudaError_t join(cudaStream_t s, CUevent_st const& e) {
  if (cudaError_t const code = expect_no_capture_beside(s); code != cudaSuccess) {
    return code;
  }
  if (!e.capture->valid || e.capture->ended) {
    return e.capture->ended ? cudaErrorCapturedEvent : cudaErrorStreamCaptureInvalidated;
  }
  if (s == s->device.default_stream) {
    return spoil(e.capture, cudaErrorStreamCaptureImplicit);
  }
  if (s->capture != nullptr && s->capture != e.capture) {
    static_cast<void>(spoil(s->capture, cudaErrorStreamCaptureMerge));
    return spoil(e.capture, cudaErrorStreamCaptureMerge);
  }
  if (s->capture == nullptr) {
    s->capture = e.capture;
    s->capture->joined.insert(s);
    s->after.clear();
  }
  s->after.insert(e.after.begin(), e.after.end());
  return cudaSuccess;
}

/// Queries a stream. This invalidates the stream's capture, as a driver of version 580 does.
template <class Answer>
cudaError_t ask(cudaStream_t stream, Answer const& answer) {
  return locked_call([&](lock_type const& lock) {
    cudaStream_t const s = stream_of(stream, lock);
    if (s->capture != nullptr) {
      return s->capture->valid ? spoil(s->capture, cudaErrorStreamCaptureUnsupported)
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

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* made, unsigned flags) {
  return make_stream(made, flags, 0);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* made, unsigned flags, int priority) {
  return make_stream(made, flags, priority < 0 ? 1U : 0U);
}
cudaError_t cudaStreamDestroy(cudaStream_t s) {
  return locked_call([&](lock_type const&) {
    if (s == nullptr || s == cudaStreamLegacy) {
      return cudaErrorInvalidResourceHandle;
    }
    all_handles::get().streams.remove(s, "a stream");
    std::erase(s->device.blocking, s);
    if (s->capture != nullptr) {
      s->capture->valid = false;
      s->capture->joined.erase(s);
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
    cudaError_t const code = last_of(stream, lock, last);
    return code != cudaSuccess || is_done(last) ? code : cudaErrorNotReady;
  });
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return uncaptured_call([&](lock_type& lock) {
    completion_ptr last;
    cudaError_t const code = last_of(stream, lock, last);
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
      return spoil(s->capture, cudaErrorStreamCaptureIsolation);
    }
    return put(
        s, [](device_state&) {}, [what = e->recorded] { wait_for(what); });
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* made, unsigned flags) {
  return locked_call([&](lock_type const&) {
    *made = new CUevent_st{current, flags, nullptr, nullptr, {}};
    all_handles::get().events.add(*made);
    return cudaSuccess;
  });
}
cudaError_t cudaEventCreate(cudaEvent_t* made) {
  return cudaEventCreateWithFlags(made, cudaEventDefault);
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
      e->after = s->after;
      e->recorded = nullptr;
      return s->capture->valid ? cudaSuccess : cudaErrorStreamCaptureInvalidated;
    }
    cudaError_t const code = put(
        s, [](device_state&) {}, nullptr, &e->recorded);
    e->capture = nullptr;
    return code;
  });
}
cudaError_t cudaEventQuery(cudaEvent_t e) {
  return uncaptured_call([&](lock_type const&) {
    completion_ptr recorded;
    cudaError_t const code = recorded_of(e, recorded);
    return code != cudaSuccess || is_done(recorded) ? code : cudaErrorNotReady;
  });
}
cudaError_t cudaEventSynchronize(cudaEvent_t e) {
  return uncaptured_call([&](lock_type& lock) {
    completion_ptr recorded;
    cudaError_t const code = recorded_of(e, recorded);
    if (code == cudaSuccess) {
      wait_for(lock, {recorded}, "cudaEventSynchronize");
    }
    return code;
  });
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end) {
  return locked_call([&](lock_type const&) {
    completion_ptr first;
    completion_ptr last;
    for (auto const& [e, recorded] : {std::pair(begin, &first), std::pair(end, &last)}) {
      if (cudaError_t const code = recorded_of(e, *recorded); code != cudaSuccess) {
        return code;
      }
      if (*recorded == nullptr || (e->flags & cudaEventDisableTiming) != 0 || e->device != begin->device) {
        return cudaErrorInvalidResourceHandle;
      }
    }
    if (!first->done || !last->done) {
      return cudaErrorNotReady;
    }
    *ms = std::chrono::duration<float, std::milli>(last->at - first->at).count();
    return cudaSuccess;
  });
}

}  // extern "C"
