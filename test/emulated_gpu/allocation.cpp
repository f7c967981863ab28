// SPDX-License-Identifier: Apache-2.0
//
// Memory: of devices, pinned, and of devices of other processes.
#include "runtime.hpp"

#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/mman.h>

namespace emulated_gpu {

namespace {

/// What a handle of another process's memory has in it.
struct exported_memory {
  pid_t process;
  int file;
  std::uint64_t offset;
  std::uint64_t bytes;
  int device;
};
static_assert(sizeof(exported_memory) <= sizeof(cudaIpcMemHandle_t));

}  // namespace

}  // namespace emulated_gpu

using namespace emulated_gpu;

extern "C" {

cudaError_t cudaMalloc(void** made, std::size_t bytes) {
  if (cudaError_t const code = enter(); code != cudaSuccess) {
    return ended(code);
  }
  {
    lock_type const lock(machine::get().mutex);
    if (cudaError_t const code = spoil_captures(lock); code != cudaSuccess) {
      return ended(code);
    }
  }
  *made = nullptr;
  if (bytes == 0) {
    return cudaSuccess;
  }
  std::byte* const here = machine::get().device(current).memory.allocate(bytes);
  if (here == nullptr) {
    return ended(cudaErrorMemoryAllocation);
  }
  std::uint64_t const address = reinterpret_cast<std::uint64_t>(here) | memory_map::of_device;
  machine::get().memory.add({address, bytes, here, current, false});
  *made = reinterpret_cast<void*>(address);
  return cudaSuccess;
}
cudaError_t cudaFree(void* p) {
  if (p == nullptr) {
    return cudaSuccess;
  }
  if (cudaError_t const code = enter(); code != cudaSuccess) {
    return ended(code);
  }
  machine& m = machine::get();
  auto const found = m.memory.find(reinterpret_cast<std::uint64_t>(p), 1);
  if (!found || found->first != reinterpret_cast<std::uint64_t>(p) || found->device == region::of_host ||
      found->imported) {
    return ended(cudaErrorInvalidValue);
  }
  {
    lock_type lock(m.mutex);
    if (cudaError_t const code = spoil_captures(lock); code != cudaSuccess) {
      return ended(code);
    }
    wait_for_all(lock, m.device(found->device), "cudaFree");
  }
  m.memory.remove(found->first);
  m.device(found->device).memory.free(found->here);
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** made, std::size_t bytes, unsigned) {
  if (cudaError_t const code = enter(); code != cudaSuccess) {
    return ended(code);
  }
  lock_type const lock(machine::get().mutex);
  if (cudaError_t const code = spoil_captures(lock); code != cudaSuccess) {
    return ended(code);
  }
  constexpr std::size_t page = 4096;
  *made = std::aligned_alloc(page, (bytes + page - 1) / page * page);
  if (*made == nullptr) {
    return ended(cudaErrorMemoryAllocation);
  }
  std::memset(*made, 0xA5, bytes);
  machine::get().memory.add(
      {reinterpret_cast<std::uint64_t>(*made), bytes, static_cast<std::byte*>(*made), region::of_host, false});
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void** made, std::size_t bytes) {
  return cudaHostAlloc(made, bytes, cudaHostAllocDefault);
}
cudaError_t cudaFreeHost(void* p) {
  if (p == nullptr) {
    return cudaSuccess;
  }
  if (cudaError_t const code = enter(); code != cudaSuccess) {
    return ended(code);
  }
  machine& m = machine::get();
  {
    lock_type lock(m.mutex);
    if (cudaError_t const code = spoil_captures(lock); code != cudaSuccess) {
      return ended(code);
    }
    for (auto const& d : m.devices) {
      wait_for_all(lock, *d, "cudaFreeHost");
    }
  }
  auto const found = m.memory.find(reinterpret_cast<std::uint64_t>(p), 1);
  if (!found || found->device != region::of_host || found->here != p) {
    return ended(cudaErrorInvalidValue);
  }
  m.memory.remove(found->first);
  std::free(p);
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* known, void const* p) {
  if (cudaError_t const code = enter(); code != cudaSuccess) {
    return ended(code);
  }
  auto const found = machine::get().memory.find(reinterpret_cast<std::uint64_t>(p), 1);
  *known = {};
  known->type = !found                             ? cudaMemoryTypeUnregistered
                : found->device == region::of_host ? cudaMemoryTypeHost
                                                   : cudaMemoryTypeDevice;
  known->device = found && found->device != region::of_host ? found->device : 0;
  known->devicePointer = found ? const_cast<void*>(p) : nullptr;
  return cudaSuccess;
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* p) {
  auto const found = machine::get().memory.find(reinterpret_cast<std::uint64_t>(p), 1);
  if (!found || found->device == region::of_host || found->imported) {
    return ended(cudaErrorInvalidValue);
  }
  device_memory const& of = machine::get().device(found->device).memory;
  exported_memory const e{getpid(), of.file(), of.offset(found->here), found->bytes, found->device};
  std::memset(handle, 0, sizeof *handle);
  std::memcpy(handle, &e, sizeof e);
  return cudaSuccess;
}
cudaError_t cudaIpcOpenMemHandle(void** made, cudaIpcMemHandle_t handle, unsigned) {
  if (cudaError_t const code = enter(); code != cudaSuccess) {
    return ended(code);
  }
  exported_memory e{};
  std::memcpy(&e, &handle, sizeof e);
  std::string const name = "/proc/" + std::to_string(e.process) + "/fd/" + std::to_string(e.file);
  int const file = e.process == getpid() ? -1 : open(name.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) {
    return ended(cudaErrorInvalidResourceHandle);
  }
  void* const p = mmap(nullptr, e.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(e.offset));
  close(file);
  if (p == MAP_FAILED) {
    return ended(cudaErrorMapBufferObjectFailed);
  }
  std::uint64_t const address = reinterpret_cast<std::uint64_t>(p) | memory_map::of_device;
  machine::get().memory.add({address, e.bytes, static_cast<std::byte*>(p), current, true});
  *made = reinterpret_cast<void*>(address);
  return cudaSuccess;
}
cudaError_t cudaIpcCloseMemHandle(void* p) {
  auto const found = machine::get().memory.find(reinterpret_cast<std::uint64_t>(p), 1);
  if (!found || !found->imported) {
    return ended(cudaErrorInvalidValue);
  }
  machine::get().memory.remove(found->first);
  munmap(found->here, found->bytes);
  return cudaSuccess;
}

}  // extern "C"
