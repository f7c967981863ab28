// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>
#include <memory>
#include <utility>

namespace tutti::emulated_gpu {

/// Enqueues a function of the host: it runs once all earlier work of the stream is done.
template <class Work>
[[nodiscard]] cudaError_t enqueue(cudaStream_t stream, Work work) {
  auto work_copy = std::make_unique<Work>(std::move(work));
  auto const run = [](void* argument) {
    std::unique_ptr<Work> const function(static_cast<Work*>(argument));
    (*function)();
  };
  cudaError_t const status = cudaLaunchHostFunc(stream, run, work_copy.get());
  if (status == cudaSuccess) {
    static_cast<void>(work_copy.release());
  }
  return status;
}

/// The thread's current device; -1 if there is none.
[[nodiscard]] inline int current_device() {
  int device = -1;
  return cudaGetDevice(&device) == cudaSuccess ? device : -1;
}

}  // namespace tutti::emulated_gpu
