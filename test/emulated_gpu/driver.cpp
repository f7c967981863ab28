// SPDX-License-Identifier: Apache-2.0
//
// What the driver alone offers, and what the other emulated libraries ask for.
#include "memory_of_device.hpp"
#include "runtime.hpp"

#include <cuda.h>
#include <map>
#include <string_view>

namespace emulated_gpu {

namespace {

cudaError_t wait_for_word(cudaStream_t handle, std::uint64_t address, std::uint64_t value) {
  lock_type const lock(machine::get().mutex);
  cudaStream_t const s = stream_of(handle, lock);
  auto const p = place_of(reinterpret_cast<void*>(address), sizeof value);
  if (s == nullptr || !p || !p->pinned) {
    return cudaErrorInvalidValue;
  }
  if (s->capture) {
    return cudaErrorStreamCaptureUnsupported;
  }
  put(
      s, [](device_state&) {},
      [word = reinterpret_cast<std::uint64_t*>(p->here), value] {
        while (static_cast<std::int64_t>(std::atomic_ref(*word).load() - value) < 0) {
          std::this_thread::sleep_for(std::chrono::microseconds(20));
        }
      });
  return cudaSuccess;
}
cudaError_t write_word(cudaStream_t handle, std::uint64_t address, std::uint64_t value) {
  lock_type const lock(machine::get().mutex);
  cudaStream_t const s = stream_of(handle, lock);
  auto const p = place_of(reinterpret_cast<void*>(address), sizeof value);
  if (s == nullptr || !p || !p->pinned) {
    return cudaErrorInvalidValue;
  }
  put(s, [word = reinterpret_cast<std::uint64_t*>(p->here), value](device_state&) {
    std::atomic_ref(*word).store(value);
  });
  return cudaSuccess;
}

CUresult emulated_device(CUdevice* found, int number) {
  *found = number;
  return CUDA_SUCCESS;
}
CUresult emulated_attribute(int* value, CUdevice_attribute which, CUdevice) {
  *value = which == CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS ? 1 : 0;
  return CUDA_SUCCESS;
}
CUresult emulated_wait(CUstream s, CUdeviceptr word, cuuint64_t value, unsigned flags) {
  return flags == CU_STREAM_WAIT_VALUE_GEQ ? static_cast<CUresult>(wait_for_word(s, word, value))
                                           : CUDA_ERROR_INVALID_VALUE;
}
CUresult emulated_write(CUstream s, CUdeviceptr word, cuuint64_t value, unsigned) {
  return static_cast<CUresult>(write_word(s, word, value));
}

}  // namespace

}  // namespace emulated_gpu

using namespace emulated_gpu;

extern "C" {

cudaError_t cudaGetDriverEntryPointByVersion(char const* name, void** found, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* how) {
  std::map<std::string_view, void*> const known{{"cuDeviceGet", reinterpret_cast<void*>(emulated_device)},
                                                {"cuDeviceGetAttribute", reinterpret_cast<void*>(emulated_attribute)},
                                                {"cuStreamWaitValue64", reinterpret_cast<void*>(emulated_wait)},
                                                {"cuStreamWriteValue64", reinterpret_cast<void*>(emulated_write)}};
  auto const it = known.find(name);
  *found = it == known.end() ? nullptr : it->second;
  *how = it == known.end() ? cudaDriverEntryPointSymbolNotFound : cudaDriverEntryPointSuccess;
  return cudaSuccess;
}

std::byte* emulated_gpu_memory(void const* p, std::size_t bytes) {
  auto const found = place_of(p, bytes);
  if (!found || !found->pinned) {
    fail("a library is given what is no memory of a device");
  }
  return found->here;
}

}  // extern "C"
