// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/error.hpp>

namespace tutti::inline v0_1_0::detail::cuda {

/// Throws a tutti::cuda::error if a call of CUDA has failed; `doing` says in words what it was to do.
template <class Doing>
void examine(cudaError_t code, Doing const& doing) {
  if (code != cudaSuccess) [[unlikely]] {
    static_cast<void>(cudaGetLastError());  // or the next call would be blamed for it
    throw tutti::cuda::error(code, doing());
  }
}

}  // namespace tutti::detail::cuda
