// SPDX-License-Identifier: Apache-2.0
//
// Work for streams other than kernels: copies and host functions.
#include "runtime.hpp"

#include <cstring>
#include <vector>

namespace emulated_gpu {

namespace {

/// True if a copy is of the stated kind.
[[nodiscard]] bool matches(cudaMemcpyKind kind, place const& destination, place const& source) {
  return kind == cudaMemcpyDefault ||
         (destination.is_on_device == (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice) &&
          source.is_on_device == (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice));
}
/// True if the host waits for the copy. Pageable memory is written before the call returns. CUDA may also wait before
/// it reads more than 64 KiB of pageable memory.
[[nodiscard]] bool is_waited_for(place const& destination, place const& source, std::size_t bytes) {
  constexpr std::size_t max_staged_bytes = std::size_t{64} << 10;
  bool const on_host = !destination.is_on_device && !source.is_on_device;
  return on_host || !destination.is_pinned || (!source.is_pinned && bytes > max_staged_bytes);
}
[[nodiscard]] body_type copy_body(place const& destination, place const& source, std::size_t bytes) {
  if (source.is_pinned) {
    return [output = destination.host_address, input = source.host_address, bytes](device_state&) {
      std::memcpy(output, input, bytes);
    };
  }
  return [output = destination.host_address,
          copy = std::vector<std::byte>(source.host_address, source.host_address + bytes)](device_state&) {
    std::memcpy(output, copy.data(), copy.size());
  };
}

}  // namespace

}  // namespace emulated_gpu

using namespace emulated_gpu;

extern "C" {

cudaError_t cudaMemcpyAsync(void* destination, void const* source, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return locked_call([&](lock_type& lock) {
    machine& m = machine::get();
    if (!m.change.wait_for(lock, patience(), [&] { return m.freeing == 0; })) {
      fail("cudaMemcpyAsync waits for a call that frees memory, and that one for work that does not end");
    }
    cudaStream_t const s = stream_of(stream, lock);
    if (bytes == 0) {
      return cudaSuccess;
    }
    auto const destination_place = place_of(destination, bytes);
    auto const source_place = place_of(source, bytes);
    if (!destination_place || !source_place || !matches(kind, *destination_place, *source_place)) {
      return cudaErrorInvalidValue;
    }
    if (s->capture && (!destination_place->is_pinned || !source_place->is_pinned)) {
      return invalidate(s->capture, cudaErrorStreamCaptureUnsupported);
    }
    completion_ptr copied_work;
    cudaError_t const code = enqueue(s, copy_body(*destination_place, *source_place, bytes), nullptr, &copied_work);
    if (code == cudaSuccess && is_waited_for(*destination_place, *source_place, bytes)) {
      wait_for(lock, {copied_work}, "cudaMemcpyAsync");
    }
    return code;
  });
}
cudaError_t cudaMemsetAsync(void* destination, int value, std::size_t bytes, cudaStream_t stream) {
  return locked_call([&](lock_type const& lock) {
    cudaStream_t const s = stream_of(stream, lock);
    auto const place = place_of(destination, bytes);
    if (bytes != 0 && (!place || !place->is_pinned)) {
      return cudaErrorInvalidValue;
    }
    return bytes == 0 ? cudaSuccess : enqueue(s, [output = place->host_address, value, bytes](device_state&) {
      std::memset(output, value, bytes);
    });
  });
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t f, void* argument) {
  return locked_call([&](lock_type const& lock) {
    return enqueue(stream_of(stream, lock), [f, argument](device_state&) {
      in_host_function = true;
      f(argument);
      in_host_function = false;
    });
  });
}

}  // extern "C"
