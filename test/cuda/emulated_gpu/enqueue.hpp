// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>
#include <memory>
#include <utility>

namespace tutti::emulated_gpu {

/// Lets something be done on the host when all that lies before it in the stream has been done.
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

/// The device that is the thread's current one; -1 if there is none.
[[nodiscard]] inline int current_device() {
  int device = -1;
  return cudaGetDevice(&device) == cudaSuccess ? device : -1;
}

}  // namespace tutti::emulated_gpu
