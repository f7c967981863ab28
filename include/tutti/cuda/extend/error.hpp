// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cuda_runtime_api.h>
#include <stdexcept>
#include <string>

namespace tutti::inline v0_1_0::cuda {

/// A call of CUDA that failed. Its text names what was to be done, CUDA's reason and, where there is one, a remedy.
class error : public std::runtime_error {
 public:
  /// Makes the error of a call that failed; `doing` names the call.
  error(cudaError_t code, std::string const& doing)
      : std::runtime_error(doing + " failed: " + cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")" +
                           remedy(code)),
        code_(code) {}

  /// CUDA's own word for it.
  [[nodiscard]] cudaError_t code() const noexcept { return code_; }

 private:
  [[nodiscard]] static char const* remedy(cudaError_t code) noexcept {
    switch (code) {
      case cudaErrorNoDevice:
        return "; look whether nvidia-smi lists a GPU, and what CUDA_VISIBLE_DEVICES says";
      case cudaErrorInsufficientDriver:
        return "; the driver of NVIDIA is missing, or older than the CUDA that this program was built with: see "
               "nvidia-smi";
      case cudaErrorMemoryAllocation:
        return "; nvidia-smi tells what is free, and which processes hold the rest";
      default:
        return "";
    }
  }

  cudaError_t code_;
};

}  // namespace tutti::cuda

namespace tutti::inline v0_1_0::detail::runtime {

/// Throws a tutti::cuda::error if a call of CUDA has failed; `doing` says in words what it was to do.
template <class Doing>
void examine(cudaError_t code, Doing const& doing) {
  if (code != cudaSuccess) [[unlikely]] {
    static_cast<void>(cudaGetLastError());  // or the next call would be blamed for it
    throw tutti::cuda::error(code, doing());
  }
}

}  // namespace tutti::detail::runtime
