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
  auto const found = machine::get().memory.find(number_of(p), 1);
  return found && found->first == number_of(p) && kind(*found) ? found : std::nullopt;
}
[[nodiscard]] bool is_own(region const& r) {
  return r.device != region::of_host && r.mapped == nullptr;
}
[[nodiscard]] bool is_pinned(region const& r) {
  return r.device == region::of_host;
}
[[nodiscard]] bool is_imported(region const& r) {
  return r.mapped != nullptr;
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
void wait_to_free(lock_type& lock, device_state const& d, std::string const& who) {
  machine& m = machine::get();
  ++m.freeing;
  wait_for_all(lock, d, who);
  --m.freeing;
  m.changed.notify_all();
}

}  // namespace

}  // namespace emulated_gpu

using namespace emulated_gpu;

extern "C" {

// Allocation and freeing of both kinds may wait for work on devices in CUDA, so they do here.

cudaError_t cudaMalloc(void** made, std::size_t bytes) {
  *made = nullptr;
  return uncaptured_call([&](lock_type& lock) {
    machine& m = machine::get();
    wait_for_all(lock, m.device(current), "cudaMalloc");
    if (bytes == 0) {
      return cudaSuccess;
    }
    std::byte* const here = m.device(current).memory.allocate(bytes);
    if (here == nullptr) {
      return cudaErrorMemoryAllocation;
    }
    std::uint64_t const address = number_of(here) | memory_map::of_device;
    m.memory.add({address, bytes, here, current});
    *made = reinterpret_cast<void*>(address);
    return cudaSuccess;
  });
}
cudaError_t cudaFree(void* p) {
  if (p == nullptr) {
    return cudaSuccess;
  }
  return uncaptured_call([&](lock_type& lock) {
    machine& m = machine::get();
    auto const found = memory_at(p, is_own);
    if (!found) {
      return cudaErrorInvalidValue;
    }
    wait_to_free(lock, m.device(found->device), "cudaFree");
    if (!m.memory.remove(found->first)) {
      return cudaErrorInvalidValue;
    }
    m.device(found->device).memory.free(found->here);
    return cudaSuccess;
  });
}
cudaError_t cudaHostAlloc(void** made, std::size_t bytes, unsigned) {
  *made = nullptr;
  return uncaptured_call([&](lock_type& lock) {
    machine& m = machine::get();
    wait_for_all(lock, m.device(current), "cudaHostAlloc");
    if (bytes == 0) {
      return cudaSuccess;
    }
    constexpr std::size_t page = 4096;
    *made = std::aligned_alloc(page, (bytes + page - 1) / page * page);
    if (*made == nullptr) {
      return cudaErrorMemoryAllocation;
    }
    std::memset(*made, 0xA5, bytes);
    m.memory.add({number_of(*made), bytes, static_cast<std::byte*>(*made)});
    return cudaSuccess;
  });
}
cudaError_t cudaMallocHost(void** made, std::size_t bytes) {
  return cudaHostAlloc(made, bytes, cudaHostAllocDefault);
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
    auto const found = memory_at(p, is_pinned);
    if (!found || !m.memory.remove(found->first)) {
      return cudaErrorInvalidValue;
    }
    std::free(p);
    return cudaSuccess;
  });
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* known, void const* p) {
  return call([&] {
    auto const found = machine::get().memory.find(number_of(p), 1);
    *known = {};
    known->type = !found ? cudaMemoryTypeUnregistered : is_pinned(*found) ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
    known->device = found && !is_pinned(*found) ? found->device : 0;
    known->devicePointer = found ? const_cast<void*>(p) : nullptr;
    known->hostPointer = found && is_pinned(*found) ? const_cast<void*>(p) : nullptr;
    return cudaSuccess;
  });
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* p) {
  return call([&] {
    auto const found = machine::get().memory.find(number_of(p), 1);
    if (!found || !is_own(*found)) {
      return cudaErrorInvalidValue;
    }
    device_memory const& of = machine::get().device(found->device).memory;
    exported_memory const e{getpid(), of.file(), of.offset(found->here), found->bytes};
    std::memset(handle, 0, sizeof *handle);
    std::memcpy(handle, &e, sizeof e);
    return cudaSuccess;
  });
}
cudaError_t cudaIpcOpenMemHandle(void** made, cudaIpcMemHandle_t handle, unsigned flags) {
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
    std::size_t const before = e.offset % device_memory::page;
    void* const p = mmap(nullptr, before + e.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                         static_cast<off_t>(e.offset - before));
    close(file);
    if (p == MAP_FAILED) {
      return cudaErrorMapBufferObjectFailed;
    }
    std::byte* const here = static_cast<std::byte*>(p) + before;
    std::uint64_t const address = number_of(here) | memory_map::of_device;
    machine::get().memory.add({address, e.bytes, here, current, static_cast<std::byte*>(p)});
    *made = reinterpret_cast<void*>(address);
    return cudaSuccess;
  });
}
cudaError_t cudaIpcCloseMemHandle(void* p) {
  return call([&] {
    auto const found = memory_at(p, is_imported);
    if (!found || !machine::get().memory.remove(found->first)) {
      return cudaErrorInvalidValue;
    }
    munmap(found->mapped, static_cast<std::size_t>(found->here - found->mapped) + found->bytes);
    return cudaSuccess;
  });
}

}  // extern "C"
