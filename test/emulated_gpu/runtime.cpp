// SPDX-License-Identifier: Apache-2.0
//
// libcudart of an emulated GPU: what tutti takes of CUDA's runtime, so that programs of nvcc run where there is no GPU.
// Errors are those that CUDA's documents name; where a program would hang or fail silently, it is ended with a message.
#include "reader.hpp"
#include "work.hpp"

#include <algorithm>
#include <cstring>
#include <cuda.h>
#include <map>
#include <optional>
#include <pthread.h>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unordered_map>

struct CUkern_st {
  std::string_view module;
  std::string name;
  std::optional<emulated_gpu::kernel> code;
};

namespace emulated_gpu {

namespace {

thread_local cudaError_t last_error = cudaSuccess;
thread_local int current = 0;
thread_local cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;

cudaError_t ended(cudaError_t code) {
  if (code != cudaSuccess) {
    last_error = code;
  }
  return code;
}

/// Kernels by the address of what stands for them on the host.
struct program {
  std::mutex mutex;
  std::unordered_map<void const*, std::unique_ptr<CUkern_st>> kernels;

  static program& get() {
    static program* const one = new program;
    return *one;
  }
  [[nodiscard]] CUkern_st* find(void const* function) {
    std::scoped_lock const lock(mutex);
    auto const it = kernels.find(function);
    return it == kernels.end() ? nullptr : it->second.get();
  }
  [[nodiscard]] kernel const& code_of(CUkern_st& k) {
    std::scoped_lock const lock(mutex);
    if (!k.code) {
      k.code = reader::read(k.module, k.name);
    }
    return *k.code;
  }
};

struct all_streams {
  std::set<cudaStream_t> of_all;  ///< under the machine's mutex
  std::vector<std::shared_ptr<capture_state>> captures;
  unsigned long long captured = 0;

  static all_streams& get() {
    static all_streams* const one = new all_streams;
    return *one;
  }
};

using lock_type = std::unique_lock<std::mutex>;

/// Whether this process may use devices.
cudaError_t enter() {
  machine& m = machine::get();
  static bool const watches = pthread_atfork(nullptr, nullptr, [] {
                                machine& of = machine::get();
                                of.of_a_parent = of.of_a_parent || of.used;
                              }) == 0;
  if (!watches || m.of_a_parent) {
    return cudaErrorInitializationError;
  }
  m.used = true;
  return m.devices.empty() ? cudaErrorNoDevice : cudaSuccess;
}

/// Captures that forbid this thread what cannot be captured: such a call spoils them.
cudaError_t spoil_captures(lock_type const&) {
  bool spoilt = false;
  for (auto const& c : all_streams::get().captures) {
    bool const own = c->by == std::this_thread::get_id();
    bool const forbids =
        (own && c->mode != cudaStreamCaptureModeRelaxed) || (!own && c->mode == cudaStreamCaptureModeGlobal);
    bool const heeds =
        capture_mode == cudaStreamCaptureModeGlobal || (capture_mode == cudaStreamCaptureModeThreadLocal && own);
    if (forbids && heeds) {
      c->valid = false;
      spoilt = true;
    }
  }
  return spoilt ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}

/// The stream that a handle stands for.
cudaStream_t stream_of(cudaStream_t handle, lock_type const&) {
  if (handle != nullptr && handle != cudaStreamLegacy) {
    return all_streams::get().of_all.contains(handle) ? handle : nullptr;
  }
  device_state& d = machine::get().device(current);
  if (d.default_stream == nullptr) {
    d.default_stream = new CUstream_st(d, 0, 0);
    all_streams::get().of_all.insert(d.default_stream);
  }
  return d.default_stream;
}

using body_type = std::function<void(device_state&)>;

/// Puts work into a stream, or into what is captured of it.
completion_ptr put(cudaStream_t s, body_type body, std::function<void()> begin = nullptr) {
  device_state& d = s->device;
  if (s->capture) {
    s->capture->nodes.push_back({std::move(body), s->after});
    s->after = {s->capture->nodes.size() - 1};
    return nullptr;
  }
  std::vector<completion_ptr> first;
  if (s == d.default_stream) {
    for (cudaStream_t const other : d.blocking) {
      first.push_back(other->last);
    }
  } else if ((s->flags & cudaStreamNonBlocking) == 0 && d.default_stream != nullptr) {
    first.push_back(d.default_stream->last);
  }
  return s->put(
      [first = std::move(first), begin = std::move(begin)] {
        for (completion_ptr const& c : first) {
          if (c != nullptr) {
            wait_for(c);
          }
        }
        if (begin) {
          begin();
        }
      },
      [body = std::move(body), &d] { body(d); });
}

/// Waits until the device has nothing to do; a program that would wait forever is ended.
void wait_for_all(lock_type& lock, device_state const& d, std::string const& who) {
  auto const idle = [&] {
    auto const& all = all_streams::get().of_all;
    return std::all_of(all.begin(), all.end(), [&](cudaStream_t s) { return &s->device != &d || s->is_done(); });
  };
  if (!machine::get().changed.wait_for(lock, std::chrono::seconds(setting("EMULATED_GPU_PATIENCE", 120)), idle)) {
    fail(who + " waits for work of device " + std::to_string(d.number) + " that does not end");
  }
}

/// One end of a copy.
struct place {
  std::byte* here = nullptr;
  bool of_device = false;
  bool pinned = false;
};
std::optional<place> place_of(void const* p, std::size_t bytes) {
  auto const address = reinterpret_cast<std::uint64_t>(p);
  if (auto const found = machine::get().memory.find(address, bytes)) {
    return place{found->here + (address - found->first), found->device != region::of_host, true};
  }
  if ((address & memory_map::of_device) != 0) {
    return std::nullopt;
  }
  return place{static_cast<std::byte*>(const_cast<void*>(p)), false, false};
}

cudaError_t make_stream(cudaStream_t* made, unsigned flags, unsigned priority) {
  if (cudaError_t const code = enter(); code != cudaSuccess) {
    return code;
  }
  lock_type const lock(machine::get().mutex);
  device_state& d = machine::get().device(current);
  *made = new CUstream_st(d, flags, priority);
  all_streams::get().of_all.insert(*made);
  if ((flags & cudaStreamNonBlocking) == 0) {
    d.blocking.push_back(*made);
  }
  return cudaSuccess;
}

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

/// The text of a program's kernels, out of what nvcc puts into it.
std::string_view text_of(void const* wrapper) {
  struct wrapped {
    std::uint32_t magic;
    std::uint32_t version;
    std::byte const* data;
  };
  auto const* const data = static_cast<wrapped const*>(wrapper)->data;
  auto const number = [](std::byte const* p, std::size_t bytes) {
    std::uint64_t n = 0;
    std::memcpy(&n, p, bytes);
    return n;
  };
  std::uint64_t const head = number(data + 6, 2);
  std::uint64_t const size = number(data + 8, 8);
  for (std::uint64_t at = head; at < head + size;) {
    std::byte const* const entry = data + at;
    std::uint64_t const entry_head = number(entry + 4, 4);
    std::uint64_t const bytes = number(entry + 8, 8);
    if (number(entry, 2) == 1) {
      std::string_view const text(reinterpret_cast<char const*>(entry + entry_head), bytes);
      if (text.substr(0, 200).find(".version") == text.npos && !text.starts_with("//") && !text.starts_with("\n//")) {
        fail("the text of a program's kernels is compressed; compile it with nvcc --no-compress");
      }
      return text;
    }
    at += entry_head + bytes;
  }
  fail("a program has no text of its kernels; compile it with nvcc -arch=compute_90 or sm_90");
}

}  // namespace

}  // namespace emulated_gpu

using namespace emulated_gpu;

extern "C" {

// What the code that nvcc makes calls.

void** __cudaRegisterFatBinary(void* wrapper) {
  return static_cast<void**>(wrapper);
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) {
  return 0;
}
void __cudaRegisterFunction(void** handle, char const* host, char*, char const* name, int, uint3*, uint3*, dim3*, dim3*,
                            int*) {
  program& p = program::get();
  std::scoped_lock const lock(p.mutex);
  p.kernels[host] = std::make_unique<CUkern_st>(CUkern_st{text_of(handle), name, std::nullopt});
}

struct launch_configuration {
  dim3 grid;
  dim3 threads;
  std::size_t shared;
  cudaStream_t stream;
};
static thread_local std::vector<launch_configuration> configurations;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 threads, std::size_t shared, cudaStream_t stream) {
  configurations.push_back({grid, threads, shared, stream});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* threads, std::size_t* shared, void* stream) {
  launch_configuration const c = configurations.back();
  configurations.pop_back();
  *grid = c.grid;
  *threads = c.threads;
  *shared = c.shared;
  *static_cast<cudaStream_t*>(stream) = c.stream;
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* found, void const* function) {
  *found = reinterpret_cast<cudaKernel_t>(program::get().find(function));
  return *found == nullptr ? ended(cudaErrorInvalidDeviceFunction) : cudaSuccess;
}

/// Makes a kernel known to the current device. While others run, CUDA may wait for them.
static void load(lock_type& lock, CUkern_st* k) {
  device_state& d = machine::get().device(current);
  if (d.loaded.insert(k).second) {
    auto const idle = [&] { return d.kernels == 0; };
    if (!machine::get().changed.wait_for(lock, std::chrono::seconds(setting("EMULATED_GPU_PATIENCE", 120)), idle)) {
      fail("the first launch of " + k->name + " waits for kernels that do not end");
    }
  }
}
cudaError_t __cudaLaunchKernel(cudaKernel_t which, dim3 grid, dim3 threads, void** arguments, std::size_t shared,
                               cudaStream_t stream) {
  if (cudaError_t const code = enter(); code != cudaSuccess) {
    return ended(code);
  }
  auto* const k = reinterpret_cast<CUkern_st*>(which);
  kernel const& code = program::get().code_of(*k);
  lock_type lock(machine::get().mutex);
  cudaStream_t const s = stream_of(stream, lock);
  if (s == nullptr || s->device.number != current || shared != 0) {
    return ended(s == nullptr || shared != 0 ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
  }
  load(lock, k);
  auto const what = std::make_shared<launch const>(code, extent{grid.x, grid.y, grid.z},
                                                   extent{threads.x, threads.y, threads.z}, arguments);
  bool const counted = !s->capture;
  if (counted) {
    ++s->device.kernels;
  }
  put(s, [what, counted](device_state& d) {
    run_kernel(d, *what);
    if (counted) {
      lock_type const all(machine::get().mutex);
      --d.kernels;
      machine::get().changed.notify_all();
    }
  });
  return cudaSuccess;
}

// The runtime.

cudaError_t cudaGetLastError() {
  return std::exchange(last_error, cudaSuccess);
}
char const* cudaGetErrorName(cudaError_t code) {
  switch (code) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInitializationError:
      return "cudaErrorInitializationError";
    case cudaErrorInvalidDeviceFunction:
      return "cudaErrorInvalidDeviceFunction";
    case cudaErrorNoDevice:
      return "cudaErrorNoDevice";
    case cudaErrorInvalidDevice:
      return "cudaErrorInvalidDevice";
    case cudaErrorInvalidResourceHandle:
      return "cudaErrorInvalidResourceHandle";
    case cudaErrorNotReady:
      return "cudaErrorNotReady";
    case cudaErrorPeerAccessAlreadyEnabled:
      return "cudaErrorPeerAccessAlreadyEnabled";
    case cudaErrorStreamCaptureUnsupported:
      return "cudaErrorStreamCaptureUnsupported";
    case cudaErrorStreamCaptureInvalidated:
      return "cudaErrorStreamCaptureInvalidated";
    case cudaErrorStreamCaptureIsolation:
      return "cudaErrorStreamCaptureIsolation";
    default:
      return "an error of the emulated GPU";
  }
}
char const* cudaGetErrorString(cudaError_t code) {
  return code == cudaErrorNoDevice ? "no CUDA-capable device is detected" : cudaGetErrorName(code);
}

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

/// What a handle of another process's memory has in it.
struct exported_memory {
  pid_t process;
  int file;
  std::uint64_t offset;
  std::uint64_t bytes;
  int device;
};
static_assert(sizeof(exported_memory) <= sizeof(cudaIpcMemHandle_t));

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

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* made, unsigned flags) {
  return ended(make_stream(made, flags, 0));
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* made, unsigned flags, int priority) {
  return ended(make_stream(made, flags, priority < 0 ? 1U : 0U));
}
cudaError_t cudaStreamDestroy(cudaStream_t s) {
  if (machine::get().of_a_parent) {
    return ended(cudaErrorInitializationError);
  }
  lock_type const lock(machine::get().mutex);
  if (all_streams::get().of_all.erase(s) == 0) {
    return ended(cudaErrorInvalidResourceHandle);
  }
  std::erase(s->device.blocking, s);
  s->end();
  return cudaSuccess;
}
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  lock_type const lock(machine::get().mutex);
  cudaStream_t const s = stream_of(stream, lock);
  *flags = s == nullptr ? 0 : s->flags;
  return s == nullptr ? ended(cudaErrorInvalidResourceHandle) : cudaSuccess;
}
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  lock_type const lock(machine::get().mutex);
  cudaStream_t const s = stream_of(stream, lock);
  *device = s == nullptr ? 0 : s->device.number;
  return s == nullptr ? ended(cudaErrorInvalidResourceHandle) : cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  lock_type const lock(machine::get().mutex);
  if (cudaError_t const code = spoil_captures(lock); code != cudaSuccess) {
    return ended(code);
  }
  cudaStream_t const s = stream_of(stream, lock);
  if (s == nullptr) {
    return ended(cudaErrorInvalidResourceHandle);
  }
  if (s->capture) {
    s->capture->valid = false;
    return ended(cudaErrorStreamCaptureUnsupported);
  }
  return s->is_done() ? cudaSuccess : ended(cudaErrorNotReady);
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  lock_type lock(machine::get().mutex);
  if (cudaError_t const code = spoil_captures(lock); code != cudaSuccess) {
    return ended(code);
  }
  cudaStream_t const s = stream_of(stream, lock);
  if (s == nullptr) {
    return ended(cudaErrorInvalidResourceHandle);
  }
  if (s->capture) {
    s->capture->valid = false;
    return ended(cudaErrorStreamCaptureUnsupported);
  }
  completion_ptr const last = s->last;
  lock.unlock();
  if (last != nullptr) {
    wait_for(last);
  }
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t e, unsigned) {
  lock_type const lock(machine::get().mutex);
  cudaStream_t const s = stream_of(stream, lock);
  if (s == nullptr || e == nullptr) {
    return ended(cudaErrorInvalidResourceHandle);
  }
  if (e->capture != nullptr) {
    if (s->capture != nullptr && s->capture != e->capture) {
      return ended(cudaErrorStreamCaptureMerge);
    }
    if (s->capture == nullptr) {
      s->capture = e->capture;
      s->capture->joined.insert(s);
      s->after.clear();
    }
    s->after.insert(e->after.begin(), e->after.end());
    return cudaSuccess;
  }
  if (s->capture != nullptr) {
    s->capture->valid = false;
    return ended(cudaErrorStreamCaptureIsolation);
  }
  if (e->recorded != nullptr) {
    put(
        s, [](device_state&) {}, [what = e->recorded] { wait_for(what); });
  }
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* made, unsigned) {
  if (cudaError_t const code = enter(); code != cudaSuccess) {
    return ended(code);
  }
  *made = new CUevent_st{current, nullptr, nullptr, {}};
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* made) {
  return cudaEventCreateWithFlags(made, cudaEventDefault);
}
cudaError_t cudaEventDestroy(cudaEvent_t e) {
  if (e == nullptr) {
    return ended(cudaErrorInvalidResourceHandle);
  }
  lock_type const lock(machine::get().mutex);
  delete e;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t stream) {
  lock_type const lock(machine::get().mutex);
  cudaStream_t const s = stream_of(stream, lock);
  if (s == nullptr || e == nullptr || e->device != s->device.number) {
    return ended(cudaErrorInvalidResourceHandle);
  }
  if (s->capture != nullptr) {
    e->capture = s->capture;
    e->after = s->after;
    e->recorded = nullptr;
    return cudaSuccess;
  }
  e->capture = nullptr;
  e->recorded = put(s, [](device_state&) {});
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t e) {
  lock_type const lock(machine::get().mutex);
  if (cudaError_t const code = spoil_captures(lock); code != cudaSuccess) {
    return ended(code);
  }
  if (e == nullptr) {
    return ended(cudaErrorInvalidResourceHandle);
  }
  if (e->capture != nullptr) {
    return ended(cudaErrorCapturedEvent);
  }
  return e->recorded == nullptr || e->recorded->done ? cudaSuccess : ended(cudaErrorNotReady);
}
cudaError_t cudaEventSynchronize(cudaEvent_t e) {
  completion_ptr what;
  {
    lock_type const lock(machine::get().mutex);
    if (cudaError_t const code = spoil_captures(lock); code != cudaSuccess) {
      return ended(code);
    }
    if (e == nullptr || e->capture != nullptr) {
      return ended(e == nullptr ? cudaErrorInvalidResourceHandle : cudaErrorCapturedEvent);
    }
    what = e->recorded;
  }
  if (what != nullptr) {
    wait_for(what);
  }
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end) {
  lock_type const lock(machine::get().mutex);
  if (begin->recorded == nullptr || end->recorded == nullptr) {
    return ended(cudaErrorInvalidResourceHandle);
  }
  if (!begin->recorded->done || !end->recorded->done) {
    return ended(cudaErrorNotReady);
  }
  *ms = std::chrono::duration<float, std::milli>(end->recorded->at - begin->recorded->at).count();
  return cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(capture_mode, *mode);
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return cudaStreamGetCaptureInfo(stream, status, nullptr, nullptr, nullptr, nullptr, nullptr);
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t*, cudaGraphNode_t const**, cudaGraphEdgeData const**, std::size_t*) {
  lock_type const lock(machine::get().mutex);
  cudaStream_t const s = stream_of(stream, lock);
  if (s == nullptr) {
    return ended(cudaErrorInvalidResourceHandle);
  }
  *status = s->capture == nullptr ? cudaStreamCaptureStatusNone
            : s->capture->valid   ? cudaStreamCaptureStatusActive
                                  : cudaStreamCaptureStatusInvalidated;
  if (id != nullptr && s->capture != nullptr) {
    *id = s->capture->id;
  }
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  lock_type const lock(machine::get().mutex);
  cudaStream_t const s = stream_of(stream, lock);
  if (s == nullptr || s == s->device.default_stream) {
    return ended(s == nullptr ? cudaErrorInvalidResourceHandle : cudaErrorStreamCaptureUnsupported);
  }
  if (s->capture != nullptr) {
    return ended(cudaErrorIllegalState);
  }
  auto& all = all_streams::get();
  s->capture = std::make_shared<capture_state>();
  s->capture->id = ++all.captured;
  s->capture->mode = mode;
  s->capture->by = std::this_thread::get_id();
  s->capture->origin = s;
  s->after.clear();
  all.captures.push_back(s->capture);
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* made) {
  *made = nullptr;
  lock_type const lock(machine::get().mutex);
  cudaStream_t const s = stream_of(stream, lock);
  if (s == nullptr || s->capture == nullptr) {
    return ended(s == nullptr ? cudaErrorInvalidResourceHandle : cudaErrorIllegalState);
  }
  auto const c = s->capture;
  if (c->origin != s) {
    return ended(cudaErrorStreamCaptureUnmatched);
  }
  if (c->mode != cudaStreamCaptureModeRelaxed && c->by != std::this_thread::get_id()) {
    return ended(cudaErrorStreamCaptureWrongThread);
  }
  std::erase(all_streams::get().captures, c);
  std::set<std::size_t> last;
  for (std::size_t n = 0; n != c->nodes.size(); ++n) {
    last.insert(n);
    for (std::size_t const before : c->nodes[n].after) {
      last.erase(before);
    }
  }
  bool const joined = std::includes(s->after.begin(), s->after.end(), last.begin(), last.end());
  for (cudaStream_t const other : c->joined) {
    other->capture = nullptr;
    other->after.clear();
  }
  s->capture = nullptr;
  s->after.clear();
  if (!c->valid || !joined) {
    return ended(c->valid ? cudaErrorStreamCaptureUnjoined : cudaErrorStreamCaptureInvalidated);
  }
  *made = new CUgraph_st{c->nodes};
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long) {
  if (graph == nullptr) {
    return ended(cudaErrorInvalidValue);
  }
  *made = new CUgraphExec_st{graph->nodes};
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  lock_type const lock(machine::get().mutex);
  cudaStream_t const s = stream_of(stream, lock);
  if (s == nullptr || graph == nullptr) {
    return ended(cudaErrorInvalidValue);
  }
  bool const counted = !s->capture;
  if (counted) {
    ++s->device.kernels;
  }
  put(s, [nodes = graph->nodes, counted](device_state& d) {
    for (graph_node const& n : nodes) {
      n.run(d);
    }
    if (counted) {
      lock_type const all(machine::get().mutex);
      --d.kernels;
      machine::get().changed.notify_all();
    }
  });
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* known, void const* function) {
  if (cudaError_t const code = enter(); code != cudaSuccess) {
    return ended(code);
  }
  CUkern_st* const k = program::get().find(function);
  if (k == nullptr) {
    return ended(cudaErrorInvalidDeviceFunction);
  }
  kernel const& code = program::get().code_of(*k);
  lock_type lock(machine::get().mutex);
  load(lock, k);
  *known = {};
  known->maxThreadsPerBlock = static_cast<int>(code.most_threads);
  known->sharedSizeBytes = code.shared_bytes;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, void const*, int, std::size_t,
                                                                   unsigned) {
  *blocks = 1;
  return cudaSuccess;
}

// The driver.

static CUresult emulated_device(CUdevice* found, int number) {
  *found = number;
  return CUDA_SUCCESS;
}
static CUresult emulated_attribute(int* value, CUdevice_attribute which, CUdevice) {
  *value = which == CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS ? 1 : 0;
  return CUDA_SUCCESS;
}
static CUresult emulated_wait(CUstream s, CUdeviceptr word, cuuint64_t value, unsigned flags) {
  return flags == CU_STREAM_WAIT_VALUE_GEQ ? static_cast<CUresult>(wait_for_word(s, word, value))
                                           : CUDA_ERROR_INVALID_VALUE;
}
static CUresult emulated_write(CUstream s, CUdeviceptr word, cuuint64_t value, unsigned) {
  return static_cast<CUresult>(write_word(s, word, value));
}
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

// For libraries that work on a device's memory.

std::byte* emulated_gpu_memory(void const* p, std::size_t bytes) {
  auto const found = place_of(p, bytes);
  if (!found || !found->pinned) {
    fail("a library is given what is no memory of a device");
  }
  return found->here;
}

}  // extern "C"
