// SPDX-License-Identifier: Apache-2.0
//
// Functions of the driver only, and services for the other emulated libraries.
#include "memory_of_device.hpp"
#include "runtime.hpp"

#include <cuda.h>
#include <map>
#include <string_view>
#include <thread>

namespace emulated_gpu {

namespace {

/// Converts to the driver's error, which has the runtime's number.
[[nodiscard]] CUresult result(cudaError_t code) {
  return static_cast<CUresult>(code);
}
/// Enqueues work on one word of memory.
template <class Enqueue>
CUresult enqueue_for_word(cudaStream_t handle, std::uint64_t address, Enqueue const& enqueue_on) {
  if (cudaError_t const code = enter(); code != cudaSuccess) {
    return result(code);
  }
  lock_type const lock(machine::get().mutex);
  cudaStream_t const s = stream_of(handle, lock);
  auto const p = place_of(reinterpret_cast<void*>(address), sizeof(std::uint64_t));
  if (!p || !p->is_pinned || address % sizeof(std::uint64_t) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (s->capture) {
    return result(invalidate(s->capture, cudaErrorStreamCaptureUnsupported));
  }
  return result(enqueue_on(s, reinterpret_cast<std::uint64_t*>(p->host_address)));
}

CUresult emulated_device(CUdevice* device, int number) {
  *device = number;
  return is_device(number) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult emulated_attribute(int* value, CUdevice_attribute attribute, CUdevice) {
  *value = attribute == CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS ? 1 : 0;
  return CUDA_SUCCESS;
}
CUresult emulated_wait(CUstream handle, CUdeviceptr address, cuuint64_t value, unsigned flags) {
  if (flags != CU_STREAM_WAIT_VALUE_GEQ) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return enqueue_for_word(handle, address, [value](cudaStream_t s, std::uint64_t* word) {
    auto const wait = [word, value] {
      while (static_cast<std::int64_t>(std::atomic_ref(*word).load() - value) < 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
    };
    return enqueue(
        s, [](device_state&) {}, wait);
  });
}
CUresult emulated_write(CUstream handle, CUdeviceptr address, cuuint64_t value, unsigned) {
  return enqueue_for_word(handle, address, [value](cudaStream_t s, std::uint64_t* word) {
    return enqueue(s, [word, value](device_state&) { std::atomic_ref(*word).store(value); });
  });
}

}  // namespace

}  // namespace emulated_gpu

using namespace emulated_gpu;

extern "C" {

cudaError_t cudaGetDriverEntryPointByVersion(char const* name, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* status) {
  std::map<std::string_view, void*> const functions{
      {"cuDeviceGet", reinterpret_cast<void*>(emulated_device)},
      {"cuDeviceGetAttribute", reinterpret_cast<void*>(emulated_attribute)},
      {"cuStreamWaitValue64", reinterpret_cast<void*>(emulated_wait)},
      {"cuStreamWriteValue64", reinterpret_cast<void*>(emulated_write)}};
  auto const entry = functions.find(name);
  *function = entry == functions.end() ? nullptr : entry->second;
  *status = entry == functions.end() ? cudaDriverEntryPointSymbolNotFound : cudaDriverEntryPointSuccess;
  return call([] { return cudaSuccess; });
}

std::byte* emulated_gpu_memory(void const* p, std::size_t bytes) {
  auto const memory = place_of(p, bytes);
  if (!memory || !memory->is_pinned) {
    fail("a library is given what is no memory of a device");
  }
  return memory->host_address;
}

}  // extern "C"
