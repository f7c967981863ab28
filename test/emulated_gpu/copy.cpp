// SPDX-License-Identifier: Apache-2.0
//
// What is put into streams besides kernels: copies, and functions of the host.
#include "runtime.hpp"

#include <cstring>
#include <vector>

using namespace emulated_gpu;

extern "C" {

cudaError_t cudaMemcpyAsync(void* to, void const* from, std::size_t bytes, cudaMemcpyKind way, cudaStream_t stream) {
  if (cudaError_t const code = enter(); code != cudaSuccess) {
    return ended(code);
  }
  auto const target = place_of(to, bytes);
  auto const source = place_of(from, bytes);
  bool const to_device = way == cudaMemcpyHostToDevice || way == cudaMemcpyDeviceToDevice;
  bool const from_device = way == cudaMemcpyDeviceToHost || way == cudaMemcpyDeviceToDevice;
  if (bytes == 0) {
    return cudaSuccess;
  }
  if (!target || !source || target->of_device != to_device || source->of_device != from_device) {
    return ended(cudaErrorInvalidValue);
  }
  completion_ptr done;
  {
    lock_type const lock(machine::get().mutex);
    cudaStream_t const s = stream_of(stream, lock);
    if (s == nullptr) {
      return ended(cudaErrorInvalidResourceHandle);
    }
    bool const pageable = !target->pinned || !source->pinned;
    if (s->capture && pageable) {
      s->capture->valid = false;
      return ended(cudaErrorStreamCaptureUnsupported);
    }
    if (!source->pinned) {  // CUDA has read it before it returns
      put(s, [to = target->here, copy = std::vector<std::byte>(source->here, source->here + bytes)](device_state&) {
        std::memcpy(to, copy.data(), copy.size());
      });
    } else {
      done = put(s, [to = target->here, at = source->here, bytes](device_state&) { std::memcpy(to, at, bytes); });
    }
    if (target->pinned) {
      return cudaSuccess;
    }
  }
  wait_for(done);  // and has written it
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  auto const target = place_of(to, bytes);
  lock_type const lock(machine::get().mutex);
  cudaStream_t const s = stream_of(stream, lock);
  if (!target || !target->pinned || s == nullptr) {
    return ended(cudaErrorInvalidValue);
  }
  put(s, [to = target->here, value, bytes](device_state&) { std::memset(to, value, bytes); });
  return cudaSuccess;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t f, void* of) {
  lock_type const lock(machine::get().mutex);
  cudaStream_t const s = stream_of(stream, lock);
  if (s == nullptr) {
    return ended(cudaErrorInvalidResourceHandle);
  }
  put(s, [f, of](device_state&) { f(of); });
  return cudaSuccess;
}

}  // extern "C"
