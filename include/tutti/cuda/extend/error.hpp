// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cuda_runtime_api.h>
#include <stdexcept>
#include <string>

namespace tutti::inline v0_1_0::cuda {

/// A failed call of CUDA. The text names the purpose of the call, CUDA's reason and, for some, a remedy.
class error : public std::runtime_error {
 public:
  /// Makes the error of a failed call; `purpose` says what the call was for.
  error(cudaError_t code, std::string const& purpose)
      : std::runtime_error(purpose + " failed: " + cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")" +
                           remedy(code)),
        code_(code) {}

  /// CUDA's error code.
  [[nodiscard]] cudaError_t code() const noexcept { return code_; }

 private:
  [[nodiscard]] static char const* remedy(cudaError_t code) noexcept {
    switch (code) {
      case cudaErrorNoDevice:
        return "; see if nvidia-smi lists a GPU and CUDA_VISIBLE_DEVICES allows it";
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

/// Throws a tutti::cuda::error if a call of CUDA has failed; `purpose` returns the purpose of the call.
template <class Purpose>
void examine(cudaError_t code, Purpose const& purpose) {
  if (code != cudaSuccess) [[unlikely]] {
    static_cast<void>(cudaGetLastError());  // clears the error, which the next call would report
    throw tutti::cuda::error(code, purpose());
  }
}

}  // namespace tutti::detail::runtime
