// SPDX-License-Identifier: Apache-2.0
//
// The functions called by nvcc's code: they register a program's kernels and launch them.
#include "launch.hpp"
#include "reader.hpp"
#include "runtime.hpp"

#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

struct CUkern_st {
  std::string_view module;
  std::string name;
  std::optional<emulated_gpu::kernel> code;
};

namespace emulated_gpu {

namespace {

/// Kernels by the address of their stubs on the host.
struct program {
  std::mutex mutex;
  std::unordered_map<void const*, std::unique_ptr<CUkern_st>> kernels;

  static program& get() {
    static program* const instance = new program;
    return *instance;
  }
  [[nodiscard]] CUkern_st* find(void const* function) {
    std::scoped_lock const lock(mutex);
    auto const entry = kernels.find(function);
    return entry == kernels.end() ? nullptr : entry->second.get();
  }
  [[nodiscard]] kernel const& code_of(CUkern_st& k) {
    std::scoped_lock const lock(mutex);
    if (!k.code) {
      k.code = reader::read(k.module, k.name);
    }
    return *k.code;
  }
};

/// The PTX text of a program's kernels, in the container that nvcc embeds.
std::string_view text_of(void const* wrapper) {
  struct wrapper_type {
    std::uint32_t magic;
    std::uint32_t version;
    std::byte const* data;
  };
  auto const* const data = static_cast<wrapper_type const*>(wrapper)->data;
  auto const number = [](std::byte const* p, std::size_t bytes) {
    std::uint64_t n = 0;
    std::memcpy(&n, p, bytes);
    return n;
  };
  std::uint64_t const head = number(data + 6, 2);
  std::uint64_t const size = number(data + 8, 8);
  for (std::uint64_t offset = head; offset < head + size;) {
    std::byte const* const entry = data + offset;
    std::uint64_t const entry_head = number(entry + 4, 4);
    std::uint64_t const bytes = number(entry + 8, 8);
    if (number(entry, 2) == 1) {
      std::string_view const text(reinterpret_cast<char const*>(entry + entry_head), bytes);
      if (text.substr(0, 200).find(".version") == text.npos && !text.starts_with("//") && !text.starts_with("\n//")) {
        fail("the text of a program's kernels is compressed; compile it with nvcc --no-compress");
      }
      return text;
    }
    offset += entry_head + bytes;
  }
  fail("a program has no text of its kernels; compile it with nvcc -arch=compute_90 or sm_90");
}

/// Loads a kernel on the current device. CUDA may wait for running kernels then.
void load(lock_type& lock, CUkern_st* k) {
  device_state& d = machine::get().device(current);
  if (d.loaded_kernels.insert(k).second &&
      !machine::get().change.wait_for(lock, patience(), [&] { return d.kernels == 0; })) {
    fail("the first launch of " + k->name + " waits for kernels that do not end");
  }
}

/// True if a device supports the grid and the block.
[[nodiscard]] bool are_possible(dim3 grid, dim3 threads) {
  auto const fits = [](dim3 const& n, unsigned x, unsigned y, unsigned z) {
    return n.x - 1 < x && n.y - 1 < y && n.z - 1 < z;
  };
  return fits(grid, 0x7fffffff, 0xffff, 0xffff) && fits(threads, 1024, 1024, 64) &&
         std::uint64_t{threads.x} * threads.y * threads.z <= 1024;
}
cudaError_t enqueue_kernel(cudaStream_t s, kernel const& code, dim3 grid, dim3 threads, void** arguments) {
  extent const block_size{threads.x, threads.y, threads.z};
  if (block_size.volume() > code.max_threads) {
    fail(code.name + " is launched with blocks of " + std::to_string(block_size.volume()) +
         " threads, and is bounded to " + std::to_string(code.max_threads));
  }
  bool const is_counted = s->capture == nullptr;
  auto kernel_launch = std::make_shared<launch const>(code, extent{grid.x, grid.y, grid.z}, block_size, arguments);
  cudaError_t const status = enqueue(s, [kernel_launch = std::move(kernel_launch), is_counted](device_state& d) {
    run_kernel(d, *kernel_launch);
    if (is_counted) {
      kernel_has_run(d);
    }
  });
  s->device.kernels += is_counted && status == cudaSuccess ? 1U : 0U;
  return status;
}

struct launch_configuration {
  dim3 grid;
  dim3 threads;
  std::size_t shared_bytes;
  cudaStream_t stream;
};
thread_local std::vector<launch_configuration> configurations;

}  // namespace

}  // namespace emulated_gpu

using namespace emulated_gpu;

extern "C" {

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

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 threads, std::size_t shared_bytes, cudaStream_t stream) {
  configurations.push_back({grid, threads, shared_bytes, stream});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* threads, std::size_t* shared_bytes, void* stream) {
  launch_configuration const c = configurations.back();
  configurations.pop_back();
  *grid = c.grid;
  *threads = c.threads;
  *shared_bytes = c.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = c.stream;
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* result, void const* function) {
  *result = nullptr;
  return call([&] {
    *result = reinterpret_cast<cudaKernel_t>(program::get().find(function));
    return *result == nullptr ? cudaErrorInvalidDeviceFunction : cudaSuccess;
  });
}

cudaError_t __cudaLaunchKernel(cudaKernel_t handle, dim3 grid, dim3 threads, void** arguments, std::size_t shared_bytes,
                               cudaStream_t stream) {
  return call([&] {
    auto* const k = reinterpret_cast<CUkern_st*>(handle);
    if (k == nullptr || !are_possible(grid, threads)) {
      return k == nullptr ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidConfiguration;
    }
    if (shared_bytes != 0) {
      fail(k->name + " is launched with shared memory of the launch, which is not known here");
    }
    kernel const& code = program::get().code_of(*k);
    lock_type lock(machine::get().mutex);
    cudaStream_t const s = stream_of(stream, lock);
    if (s->device.number != current) {
      return cudaErrorInvalidResourceHandle;
    }
    load(lock, k);
    return enqueue_kernel(s, code, grid, threads, arguments);
  });
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, void const* function) {
  return call([&] {
    CUkern_st* const k = program::get().find(function);
    if (k == nullptr) {
      return cudaErrorInvalidDeviceFunction;
    }
    kernel const& code = program::get().code_of(*k);
    lock_type lock(machine::get().mutex);
    load(lock, k);
    *attributes = {};
    attributes->maxThreadsPerBlock = static_cast<int>(code.max_threads);
    attributes->sharedSizeBytes = code.shared_bytes;
    return cudaSuccess;
  });
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, void const*, int, std::size_t,
                                                                   unsigned) {
  *blocks = 1;
  return call([] { return cudaSuccess; });
}

}  // extern "C"
