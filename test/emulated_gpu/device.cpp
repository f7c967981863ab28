// SPDX-License-Identifier: Apache-2.0
//
// Devices.
#include "runtime.hpp"

#include <cstdio>
#include <cstring>

using namespace emulated_gpu;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  cudaError_t const code = enter();
  *count = code == cudaSuccess ? static_cast<int>(machine::get().devices.size()) : 0;
  return ended(code);
}
cudaError_t cudaGetDevice(int* device) {
  *device = current;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (cudaError_t const code = enter(); code != cudaSuccess) {
    return ended(code);
  }
  if (device < 0 || static_cast<std::size_t>(device) >= machine::get().devices.size()) {
    return ended(cudaErrorInvalidDevice);
  }
  current = device;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* known, int device) {
  *known = {};
  std::strcpy(known->name, "emulated GPU");
  known->multiProcessorCount = static_cast<int>(machine::get().device(device).multiprocessors);
  known->major = 9;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int device) {
  if (which != cudaDevAttrMultiProcessorCount) {
    return ended(cudaErrorInvalidValue);
  }
  *value = static_cast<int>(machine::get().device(device).multiprocessors);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int bytes, int device) {
  std::snprintf(text, static_cast<std::size_t>(bytes), "0000:%02x:00.0", static_cast<unsigned>(device) + 1);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetByPCIBusId(int* device, char const* text) {
  for (auto const& d : machine::get().devices) {
    char known[32];
    static_cast<void>(cudaDeviceGetPCIBusId(known, sizeof known, d->number));
    if (std::strcmp(text, known) == 0) {
      *device = d->number;
      return cudaSuccess;
    }
  }
  return ended(cudaErrorInvalidValue);
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int other) {
  *can = device != other ? 1 : 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int other, unsigned) {
  lock_type const lock(machine::get().mutex);
  if (cudaError_t const code = spoil_captures(lock); code != cudaSuccess) {
    return ended(code);
  }
  auto reaches = machine::get().device(current).reaches.begin() + other;
  if (*reaches) {
    return ended(cudaErrorPeerAccessAlreadyEnabled);
  }
  *reaches = true;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* most) {
  *least = 0;
  *most = -1;
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  lock_type lock(machine::get().mutex);
  if (cudaError_t const code = spoil_captures(lock); code != cudaSuccess) {
    return ended(code);
  }
  wait_for_all(lock, machine::get().device(current), "cudaDeviceSynchronize");
  return cudaSuccess;
}

}  // extern "C"
