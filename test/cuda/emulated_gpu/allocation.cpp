// SPDX-License-Identifier: Apache-2.0
//
// Memory of devices, pinned memory, and device memory of other processes.
#include "runtime.hpp"

#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/mman.h>

namespace emulated_gpu {

namespace {

[[nodiscard]] std::uint64_t number_of(void const* p) {
  return reinterpret_cast<std::uint64_t>(p);
}
/// The memory of that kind that begins at `p`, if any.
template <class Kind>
[[nodiscard]] std::optional<region> memory_at(void const* p, Kind const& kind) {
  auto const memory = machine::get().memory.find(number_of(p), 1);
  return memory && memory->first == number_of(p) && kind(*memory) ? memory : std::nullopt;
}
[[nodiscard]] bool is_own(region const& r) {
  return r.device != region::no_device && r.mapping == nullptr;
}
[[nodiscard]] bool is_pinned(region const& r) {
  return r.device == region::no_device;
}
[[nodiscard]] bool is_imported(region const& r) {
  return r.mapping != nullptr;
}

/// The contents of an IPC handle for another process's memory.
struct exported_memory {
  pid_t process;
  int file;
  std::uint64_t offset;
  std::uint64_t bytes;
};
static_assert(sizeof(exported_memory) <= sizeof(cudaIpcMemHandle_t));

/// Waits for the device whose memory is freed. No thread copies anything during the wait, as on a GPU (seen on an
/// H100).
void wait_to_free(lock_type& lock, device_state const& d, std::string const& caller) {
  machine& m = machine::get();
  ++m.freeing;
  wait_for_all(lock, d, caller);
  --m.freeing;
  m.change.notify_all();
}

}  // namespace

}  // namespace emulated_gpu

using namespace emulated_gpu;

extern "C" {

// Allocation and freeing of both kinds may wait for work on devices in CUDA, so they do here.

cudaError_t cudaMalloc(void** result, std::size_t bytes) {
  *result = nullptr;
  return uncaptured_call([&](lock_type& lock) {
    machine& m = machine::get();
    wait_for_all(lock, m.device(current), "cudaMalloc");
    if (bytes == 0) {
      return cudaSuccess;
    }
    std::byte* const host_address = m.device(current).memory.allocate(bytes);
    if (host_address == nullptr) {
      return cudaErrorMemoryAllocation;
    }
    std::uint64_t const address = number_of(host_address) | memory_map::device_bit;
    m.memory.add({address, bytes, host_address, current});
    *result = reinterpret_cast<void*>(address);
    return cudaSuccess;
  });
}
cudaError_t cudaFree(void* p) {
  if (p == nullptr) {
    return cudaSuccess;
  }
  return uncaptured_call([&](lock_type& lock) {
    machine& m = machine::get();
    auto const memory = memory_at(p, is_own);
    if (!memory) {
      return cudaErrorInvalidValue;
    }
    wait_to_free(lock, m.device(memory->device), "cudaFree");
    if (!m.memory.remove(memory->first)) {
      return cudaErrorInvalidValue;
    }
    m.device(memory->device).memory.free(memory->host_address);
    return cudaSuccess;
  });
}
cudaError_t cudaHostAlloc(void** result, std::size_t bytes, unsigned) {
  *result = nullptr;
  return uncaptured_call([&](lock_type& lock) {
    machine& m = machine::get();
    wait_for_all(lock, m.device(current), "cudaHostAlloc");
    if (bytes == 0) {
      return cudaSuccess;
    }
    constexpr std::size_t page = 4096;
    *result = std::aligned_alloc(page, (bytes + page - 1) / page * page);
    if (*result == nullptr) {
      return cudaErrorMemoryAllocation;
    }
    std::memset(*result, 0xA5, bytes);
    m.memory.add({number_of(*result), bytes, static_cast<std::byte*>(*result)});
    return cudaSuccess;
  });
}
cudaError_t cudaMallocHost(void** result, std::size_t bytes) {
  return cudaHostAlloc(result, bytes, cudaHostAllocDefault);
}
cudaError_t cudaFreeHost(void* p) {
  if (p == nullptr) {
    return cudaSuccess;
  }
  return uncaptured_call([&](lock_type& lock) {
    machine& m = machine::get();
    for (auto const& d : m.devices) {
      wait_to_free(lock, *d, "cudaFreeHost");
    }
    auto const memory = memory_at(p, is_pinned);
    if (!memory || !m.memory.remove(memory->first)) {
      return cudaErrorInvalidValue;
    }
    std::free(p);
    return cudaSuccess;
  });
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, void const* p) {
  return call([&] {
    auto const memory = machine::get().memory.find(number_of(p), 1);
    *attributes = {};
    attributes->type = !memory              ? cudaMemoryTypeUnregistered
                       : is_pinned(*memory) ? cudaMemoryTypeHost
                                            : cudaMemoryTypeDevice;
    attributes->device = memory && !is_pinned(*memory) ? memory->device : 0;
    attributes->devicePointer = memory ? const_cast<void*>(p) : nullptr;
    attributes->hostPointer = memory && is_pinned(*memory) ? const_cast<void*>(p) : nullptr;
    return cudaSuccess;
  });
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* p) {
  return call([&] {
    auto const memory = machine::get().memory.find(number_of(p), 1);
    if (!memory || !is_own(*memory)) {
      return cudaErrorInvalidValue;
    }
    device_memory const& owner = machine::get().device(memory->device).memory;
    exported_memory const e{getpid(), owner.file(), owner.offset(memory->host_address), memory->bytes};
    std::memset(handle, 0, sizeof *handle);
    std::memcpy(handle, &e, sizeof e);
    return cudaSuccess;
  });
}
cudaError_t cudaIpcOpenMemHandle(void** result, cudaIpcMemHandle_t handle, unsigned flags) {
  return uncaptured_call([&](lock_type const&) {
    exported_memory e{};
    std::memcpy(&e, &handle, sizeof e);
    if (flags != cudaIpcMemLazyEnablePeerAccess) {
      return cudaErrorInvalidValue;
    }
    std::string const name = "/proc/" + std::to_string(e.process) + "/fd/" + std::to_string(e.file);
    int const file = e.process == getpid() ? -1 : open(name.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) {
      return cudaErrorInvalidResourceHandle;
    }
    std::size_t const page_offset = e.offset % device_memory::page;
    void* const p = mmap(nullptr, page_offset + e.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                         static_cast<off_t>(e.offset - page_offset));
    close(file);
    if (p == MAP_FAILED) {
      return cudaErrorMapBufferObjectFailed;
    }
    std::byte* const host_address = static_cast<std::byte*>(p) + page_offset;
    std::uint64_t const address = number_of(host_address) | memory_map::device_bit;
    machine::get().memory.add({address, e.bytes, host_address, current, static_cast<std::byte*>(p)});
    *result = reinterpret_cast<void*>(address);
    return cudaSuccess;
  });
}
cudaError_t cudaIpcCloseMemHandle(void* p) {
  return call([&] {
    auto const memory = memory_at(p, is_imported);
    if (!memory || !machine::get().memory.remove(memory->first)) {
      return cudaErrorInvalidValue;
    }
    munmap(memory->mapping, static_cast<std::size_t>(memory->host_address - memory->mapping) + memory->bytes);
    return cudaSuccess;
  });
}

}  // extern "C"
