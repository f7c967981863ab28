// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>
#include <memory>
#include <utility>

namespace tutti::emulated_gpu {

/// Enqueues a function of the host: it runs once all earlier work of the stream is done.
template <class Work>
[[nodiscard]] cudaError_t enqueue(cudaStream_t in, Work work) {
  auto owned = std::make_unique<Work>(std::move(work));
  auto const run = [](void* it) {
    std::unique_ptr<Work> const mine(static_cast<Work*>(it));
    (*mine)();
  };
  cudaError_t const status = cudaLaunchHostFunc(in, run, owned.get());
  if (status == cudaSuccess) {
    static_cast<void>(owned.release());
  }
  return status;
}

/// The thread's current device; -1 if there is none.
[[nodiscard]] inline int current_device() {
  int device = -1;
  return cudaGetDevice(&device) == cudaSuccess ? device : -1;
}

}  // namespace tutti::emulated_gpu
