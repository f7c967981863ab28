// SPDX-License-Identifier: Apache-2.0
//
// Devices.
#include "runtime.hpp"

#include <cstdio>
#include <cstring>

namespace emulated_gpu {

namespace {

/// Makes a call for that device.
template <class F>
cudaError_t call_for(int device, F const& f) {
  return call([&] { return is_device(device) ? f(machine::get().device(device)) : cudaErrorInvalidDevice; });
}

}  // namespace

}  // namespace emulated_gpu

using namespace emulated_gpu;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  return call([&] {
    *count = static_cast<int>(machine::get().devices.size());
    return cudaSuccess;
  });
}
cudaError_t cudaGetDevice(int* device) {
  return call([&] {
    *device = current;
    return cudaSuccess;
  });
}
cudaError_t cudaSetDevice(int device) {
  return call_for(device, [&](device_state const& d) {
    current = d.number;
    return cudaSuccess;
  });
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return call_for(device, [&](device_state const& d) {
    *properties = {};
    std::strcpy(properties->name, "emulated GPU");
    properties->multiProcessorCount = static_cast<int>(d.multiprocessors);
    properties->major = 9;
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return call_for(device, [&](device_state const& d) {
    if (attribute != cudaDevAttrMultiProcessorCount) {
      fail("the attribute " + std::to_string(attribute) + " of a device is not known here");
    }
    *value = static_cast<int>(d.multiprocessors);
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int bytes, int device) {
  return call_for(device, [&](device_state const& d) {
    std::snprintf(text, static_cast<std::size_t>(bytes), "0000:%02x:00.0", static_cast<unsigned>(d.number) + 1);
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceGetByPCIBusId(int* device, char const* text) {
  return call([&] {
    for (auto const& d : machine::get().devices) {
      char id[32];
      static_cast<void>(cudaDeviceGetPCIBusId(id, sizeof id, d->number));
      if (std::strcmp(text, id) == 0) {
        *device = d->number;
        return cudaSuccess;
      }
    }
    return cudaErrorInvalidValue;
  });
}
cudaError_t cudaDeviceCanAccessPeer(int* can_access, int device, int peer) {
  return call_for(device, [&](device_state const& d) {
    *can_access = d.number != peer ? 1 : 0;
    return is_device(peer) ? cudaSuccess : cudaErrorInvalidDevice;
  });
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  return uncaptured_call([&](lock_type const&) {
    if (flags != 0 || !is_device(peer) || peer == current) {
      return flags != 0 ? cudaErrorInvalidValue : cudaErrorInvalidDevice;
    }
    auto is_reachable = machine::get().device(current).reachable.begin() + peer;
    if (*is_reachable) {
      return cudaErrorPeerAccessAlreadyEnabled;
    }
    *is_reachable = true;
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -1;
  return call([] { return cudaSuccess; });
}
cudaError_t cudaDeviceSynchronize() {
  return uncaptured_call([](lock_type& lock) {
    wait_for_all(lock, machine::get().device(current), "cudaDeviceSynchronize");
    return cudaSuccess;
  });
}

}  // extern "C"
