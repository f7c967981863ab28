// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/extend/error.hpp>

#include <string>

namespace tutti::inline v0_1_0::cuda {

/// The number of GPUs on this host that are visible to CUDA (CUDA_VISIBLE_DEVICES).
/// @throws cuda::error if there is none, or no driver
/// Thread safety: any thread.
[[nodiscard]] inline int devices() {
  int count = 0;
  detail::runtime::examine(cudaGetDeviceCount(&count), [] { return std::string("looking for devices of CUDA"); });
  return count;
}

}  // namespace tutti::cuda
