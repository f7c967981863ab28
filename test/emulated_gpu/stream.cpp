// SPDX-License-Identifier: Apache-2.0
//
// Streams and events.
#include "runtime.hpp"

#include <chrono>

namespace emulated_gpu {

namespace {

cudaError_t make_stream(cudaStream_t* made, unsigned flags, unsigned priority) {
  if (cudaError_t const code = enter(); code != cudaSuccess) {
    return code;
  }
  lock_type const lock(machine::get().mutex);
  device_state& d = machine::get().device(current);
  *made = new CUstream_st(d, flags, priority);
  all_streams::get().of_all.insert(*made);
  if ((flags & cudaStreamNonBlocking) == 0) {
    d.blocking.push_back(*made);
  }
  return cudaSuccess;
}

}  // namespace

}  // namespace emulated_gpu

using namespace emulated_gpu;

extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* made, unsigned flags) {
  return ended(make_stream(made, flags, 0));
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* made, unsigned flags, int priority) {
  return ended(make_stream(made, flags, priority < 0 ? 1U : 0U));
}
cudaError_t cudaStreamDestroy(cudaStream_t s) {
  if (machine::get().of_a_parent) {
    return ended(cudaErrorInitializationError);
  }
  lock_type const lock(machine::get().mutex);
  if (all_streams::get().of_all.erase(s) == 0) {
    return ended(cudaErrorInvalidResourceHandle);
  }
  std::erase(s->device.blocking, s);
  s->end();
  return cudaSuccess;
}
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  lock_type const lock(machine::get().mutex);
  cudaStream_t const s = stream_of(stream, lock);
  *flags = s == nullptr ? 0 : s->flags;
  return s == nullptr ? ended(cudaErrorInvalidResourceHandle) : cudaSuccess;
}
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  lock_type const lock(machine::get().mutex);
  cudaStream_t const s = stream_of(stream, lock);
  *device = s == nullptr ? 0 : s->device.number;
  return s == nullptr ? ended(cudaErrorInvalidResourceHandle) : cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  lock_type const lock(machine::get().mutex);
  if (cudaError_t const code = spoil_captures(lock); code != cudaSuccess) {
    return ended(code);
  }
  cudaStream_t const s = stream_of(stream, lock);
  if (s == nullptr) {
    return ended(cudaErrorInvalidResourceHandle);
  }
  if (s->capture) {
    s->capture->valid = false;
    return ended(cudaErrorStreamCaptureUnsupported);
  }
  return s->is_done() ? cudaSuccess : ended(cudaErrorNotReady);
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  lock_type lock(machine::get().mutex);
  if (cudaError_t const code = spoil_captures(lock); code != cudaSuccess) {
    return ended(code);
  }
  cudaStream_t const s = stream_of(stream, lock);
  if (s == nullptr) {
    return ended(cudaErrorInvalidResourceHandle);
  }
  if (s->capture) {
    s->capture->valid = false;
    return ended(cudaErrorStreamCaptureUnsupported);
  }
  completion_ptr const last = s->last;
  lock.unlock();
  if (last != nullptr) {
    wait_for(last);
  }
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t e, unsigned) {
  lock_type const lock(machine::get().mutex);
  cudaStream_t const s = stream_of(stream, lock);
  if (s == nullptr || e == nullptr) {
    return ended(cudaErrorInvalidResourceHandle);
  }
  if (e->capture != nullptr) {
    if (s->capture != nullptr && s->capture != e->capture) {
      return ended(cudaErrorStreamCaptureMerge);
    }
    if (s->capture == nullptr) {
      s->capture = e->capture;
      s->capture->joined.insert(s);
      s->after.clear();
    }
    s->after.insert(e->after.begin(), e->after.end());
    return cudaSuccess;
  }
  if (s->capture != nullptr) {
    s->capture->valid = false;
    return ended(cudaErrorStreamCaptureIsolation);
  }
  if (e->recorded != nullptr) {
    put(
        s, [](device_state&) {}, [what = e->recorded] { wait_for(what); });
  }
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* made, unsigned) {
  if (cudaError_t const code = enter(); code != cudaSuccess) {
    return ended(code);
  }
  *made = new CUevent_st{current, nullptr, nullptr, {}};
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* made) {
  return cudaEventCreateWithFlags(made, cudaEventDefault);
}
cudaError_t cudaEventDestroy(cudaEvent_t e) {
  if (e == nullptr) {
    return ended(cudaErrorInvalidResourceHandle);
  }
  lock_type const lock(machine::get().mutex);
  delete e;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t stream) {
  lock_type const lock(machine::get().mutex);
  cudaStream_t const s = stream_of(stream, lock);
  if (s == nullptr || e == nullptr || e->device != s->device.number) {
    return ended(cudaErrorInvalidResourceHandle);
  }
  if (s->capture != nullptr) {
    e->capture = s->capture;
    e->after = s->after;
    e->recorded = nullptr;
    return cudaSuccess;
  }
  e->capture = nullptr;
  e->recorded = put(s, [](device_state&) {});
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t e) {
  lock_type const lock(machine::get().mutex);
  if (cudaError_t const code = spoil_captures(lock); code != cudaSuccess) {
    return ended(code);
  }
  if (e == nullptr) {
    return ended(cudaErrorInvalidResourceHandle);
  }
  if (e->capture != nullptr) {
    return ended(cudaErrorCapturedEvent);
  }
  return e->recorded == nullptr || e->recorded->done ? cudaSuccess : ended(cudaErrorNotReady);
}
cudaError_t cudaEventSynchronize(cudaEvent_t e) {
  completion_ptr what;
  {
    lock_type const lock(machine::get().mutex);
    if (cudaError_t const code = spoil_captures(lock); code != cudaSuccess) {
      return ended(code);
    }
    if (e == nullptr || e->capture != nullptr) {
      return ended(e == nullptr ? cudaErrorInvalidResourceHandle : cudaErrorCapturedEvent);
    }
    what = e->recorded;
  }
  if (what != nullptr) {
    wait_for(what);
  }
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end) {
  lock_type const lock(machine::get().mutex);
  if (begin->recorded == nullptr || end->recorded == nullptr) {
    return ended(cudaErrorInvalidResourceHandle);
  }
  if (!begin->recorded->done || !end->recorded->done) {
    return ended(cudaErrorNotReady);
  }
  *ms = std::chrono::duration<float, std::milli>(end->recorded->at - begin->recorded->at).count();
  return cudaSuccess;
}

}  // extern "C"
