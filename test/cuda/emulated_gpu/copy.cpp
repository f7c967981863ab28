// SPDX-License-Identifier: Apache-2.0
//
// Work for streams other than kernels: copies and host functions.
#include "runtime.hpp"

#include <cstring>
#include <vector>

namespace emulated_gpu {

namespace {

/// True if a copy is of the stated kind.
[[nodiscard]] bool goes(cudaMemcpyKind way, place const& to, place const& from) {
  return way == cudaMemcpyDefault ||
         (to.of_device == (way == cudaMemcpyHostToDevice || way == cudaMemcpyDeviceToDevice) &&
          from.of_device == (way == cudaMemcpyDeviceToHost || way == cudaMemcpyDeviceToDevice));
}
/// True if the host waits for the copy. Pageable memory is written before the call returns. CUDA may also wait before
/// it reads more than 64 KiB of pageable memory.
[[nodiscard]] bool is_waited_for(place const& to, place const& from, std::size_t bytes) {
  constexpr std::size_t staged_at_once = std::size_t{64} << 10;
  bool const on_host = !to.of_device && !from.of_device;
  return on_host || !to.pinned || (!from.pinned && bytes > staged_at_once);
}
[[nodiscard]] body_type copying(place const& to, place const& from, std::size_t bytes) {
  if (from.pinned) {
    return [at = to.here, from = from.here, bytes](device_state&) { std::memcpy(at, from, bytes); };
  }
  return [at = to.here, copy = std::vector<std::byte>(from.here, from.here + bytes)](device_state&) {
    std::memcpy(at, copy.data(), copy.size());
  };
}

}  // namespace

}  // namespace emulated_gpu

using namespace emulated_gpu;

extern "C" {

cudaError_t cudaMemcpyAsync(void* to, void const* from, std::size_t bytes, cudaMemcpyKind way, cudaStream_t stream) {
  return locked_call([&](lock_type& lock) {
    machine& m = machine::get();
    if (!m.changed.wait_for(lock, patience(), [&] { return m.freeing == 0; })) {
      fail("cudaMemcpyAsync waits for a call that frees memory, and that one for work that does not end");
    }
    cudaStream_t const s = stream_of(stream, lock);
    if (bytes == 0) {
      return cudaSuccess;
    }
    auto const target = place_of(to, bytes);
    auto const source = place_of(from, bytes);
    if (!target || !source || !goes(way, *target, *source)) {
      return cudaErrorInvalidValue;
    }
    if (s->capture && (!target->pinned || !source->pinned)) {
      return spoil(s->capture, cudaErrorStreamCaptureUnsupported);
    }
    completion_ptr done;
    cudaError_t const code = put(s, copying(*target, *source, bytes), nullptr, &done);
    if (code == cudaSuccess && is_waited_for(*target, *source, bytes)) {
      wait_for(lock, {done}, "cudaMemcpyAsync");
    }
    return code;
  });
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  return locked_call([&](lock_type const& lock) {
    cudaStream_t const s = stream_of(stream, lock);
    auto const target = place_of(to, bytes);
    if (bytes != 0 && (!target || !target->pinned)) {
      return cudaErrorInvalidValue;
    }
    return bytes == 0 ? cudaSuccess
                      : put(s, [at = target->here, value, bytes](device_state&) { std::memset(at, value, bytes); });
  });
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t f, void* of) {
  return locked_call([&](lock_type const& lock) {
    return put(stream_of(stream, lock), [f, of](device_state&) {
      in_host_function = true;
      f(of);
      in_host_function = false;
    });
  });
}

}  // extern "C"
