// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/precision.hpp>
#include <tutti/nn/cuda/detail/runtime/handle.hpp>
#include <tutti/nn/cuda/detail/runtime/memory.hpp>

#include <cstddef>
#include <cstdint>
#include <cublas_v2.h>
#include <stdexcept>
#include <string>

namespace tutti::inline v0_1_0::nn::detail::runtime {

/// The CUDA type of a precision.
[[nodiscard]] constexpr cudaDataType_t data_type(precision p) noexcept {
  return p == precision::float32 ? CUDA_R_32F : p == precision::bfloat16 ? CUDA_R_16BF : CUDA_R_16F;
}

/// Products of row-major matrices, by cuBLAS.
///
/// Floats are multiplied as floats ("pedantic": no TF32, no emulation by bfloat16), other numbers with sums in float.
/// Results have the same bits from run to run: all products of a handle are in one stream, with one workspace of its
/// own, and atomic sums are off by default.
class products {
 public:
  /// @param stream a stream of that device
  products(memory_and_order const& device, cudaStream_t stream, precision numbers)
      : numbers_(numbers), handle_(device, [](cublasStatus_t s) { check_status(s, "beginning to use cuBLAS"); }) {
    workspace_.reserve(workspace_bytes, device);
    check_status(cublasSetStream(handle_.get(), stream), "giving cuBLAS a stream");
    check_status(cublasSetWorkspace(handle_.get(), workspace_.data(), workspace_.size()), "giving cuBLAS memory");
    check_status(cublasSetPointerMode(handle_.get(), CUBLAS_POINTER_MODE_HOST), "setting up cuBLAS");
    check_status(cublasSetMathMode(handle_.get(), numbers == precision::float32
                                                      ? CUBLAS_PEDANTIC_MATH
                                                      : CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION),
                 "setting up cuBLAS");
  }

  /// A matrix in memory, to be used as it is or transposed.
  struct matrix {
    void const* numbers;
    std::size_t columns;  ///< columns in memory
    bool is_transposed;
  };
  /// c = a b: m x n numbers, or floats, each the sum of k products.
  /// @pre its device is current
  void multiply(std::size_t m, std::size_t n, std::size_t k, matrix const& a, matrix const& b, void* c,
                bool floats) const {
    // cuBLAS is column-major, so it computes the transpose of c: b's transpose times a's.
    float const alpha = 1;
    float const beta = 0;
    auto const size = [](std::size_t x) { return static_cast<std::int64_t>(x); };
    cudaDataType_t const type = data_type(numbers_);
    check_status(
        cublasGemmEx_64(handle_.get(), operation(b), operation(a), size(n), size(m), size(k), &alpha, b.numbers, type,
                        size(b.columns), a.numbers, type, size(a.columns), &beta, c, floats ? CUDA_R_32F : type,
                        size(n), numbers_ == precision::float32 ? CUBLAS_COMPUTE_32F_PEDANTIC : CUBLAS_COMPUTE_32F,
                        CUBLAS_GEMM_DEFAULT),
        "multiplying matrices by cuBLAS");
  }

 private:
  /// NVIDIA's recommendation for Hopper.
  static constexpr std::size_t workspace_bytes = std::size_t{32} << 20;

  [[nodiscard]] static cublasOperation_t operation(matrix const& m) noexcept {
    return m.is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  }
  static void check_status(cublasStatus_t status, char const* purpose) {
    if (status != CUBLAS_STATUS_SUCCESS) {
      throw std::runtime_error(std::string(purpose) + " failed: " + cublasGetStatusString(status) + " (" +
                               cublasGetStatusName(status) + "); CUBLAS_LOGINFO_DBG=1 makes it say more");
    }
  }

  precision numbers_;
  scratch workspace_;
  handle<cublasHandle_t, cublasCreate, cublasDestroy> handle_;
};

}  // namespace tutti::nn::detail::runtime
