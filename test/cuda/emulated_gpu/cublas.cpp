// SPDX-License-Identifier: Apache-2.0
// The part of cuBLAS used by tutti, computed by the host in the order of the emulated GPU's streams. Arguments are
// refused as by NVIDIA's library; everything else is unsupported.
#include "enqueue.hpp"
#include "gemm.hpp"
#include "numbers.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cublas_v2.h>
#include <iterator>
#include <optional>
#include <utility>

struct cublasContext {
  int device = 0;
  cudaStream_t stream = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
  bool workspace_is_new = false;
};

namespace tutti::emulated_gpu {
namespace {

[[nodiscard]] std::optional<number> number_of(cudaDataType_t type) {
  switch (type) {
    case CUDA_R_32F:
      return number::float32;
    case CUDA_R_16F:
      return number::float16;
    case CUDA_R_16BF:
      return number::bfloat16;
    default:
      return {};
  }
}

[[nodiscard]] bool is_operation(cublasOperation_t o) {
  return o == CUBLAS_OP_N || o == CUBLAS_OP_T || o == CUBLAS_OP_C;
}

/// Sizes of a GEMM, as passed by the caller.
struct sizes {
  std::int64_t m, n, k, lda, ldb, ldc;

  [[nodiscard]] bool fit(bool a_transposed, bool b_transposed) const {
    return m >= 0 && n >= 0 && k >= 0 && lda >= std::max<std::int64_t>(1, a_transposed ? k : m) &&
           ldb >= std::max<std::int64_t>(1, b_transposed ? n : k) && ldc >= std::max<std::int64_t>(1, m);
  }
};

[[nodiscard]] matrix_of_columns matrix(number type, void const* first, std::int64_t rows, std::int64_t columns,
                                       std::int64_t column_stride) {
  return {type, first, static_cast<std::size_t>(rows), static_cast<std::size_t>(columns),
          static_cast<std::size_t>(column_stride)};
}

/// Bytes of the workspace that a product overwrites: the whole workspace the first time, then room for four partial
/// sums.
[[nodiscard]] std::size_t poisoned_bytes(cublasContext& context, std::size_t numbers) {
  return std::exchange(context.workspace_is_new, false)
             ? context.workspace_bytes
             : std::min(context.workspace_bytes, 4 * numbers * sizeof(float));
}

[[nodiscard]] cublasStatus_t status_of(cublasHandle_t handle) {
  return handle == nullptr                    ? CUBLAS_STATUS_NOT_INITIALIZED
         : handle->device != current_device() ? CUBLAS_STATUS_EXECUTION_FAILED
                                              : CUBLAS_STATUS_SUCCESS;
}

struct status_text {
  cublasStatus_t status;
  char const* name;
  char const* sense;
};
constexpr status_text status_texts[] = {
    {CUBLAS_STATUS_SUCCESS, "CUBLAS_STATUS_SUCCESS", "success"},
    {CUBLAS_STATUS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED", "the library was not initialized"},
    {CUBLAS_STATUS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE",
     "an unsupported value or parameter was passed to the function"},
    {CUBLAS_STATUS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED", "the function failed to launch on the GPU"},
    {CUBLAS_STATUS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED", "the requested functionality is not supported"}};

[[nodiscard]] status_text text_of(cublasStatus_t status) {
  auto const* const entry = std::find_if(std::begin(status_texts), std::end(status_texts),
                                         [=](status_text const& w) { return w.status == status; });
  return entry == std::end(status_texts) ? status_text{status, "unrecognized status", "unrecognized status"} : *entry;
}

}  // namespace
}  // namespace tutti::emulated_gpu

using namespace tutti::emulated_gpu;

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  if (handle == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  int const device = current_device();
  if (device < 0) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  *handle = new cublasContext{.device = device};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  if (handle == nullptr) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

/// Sets the stream and forgets the caller's workspace.
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  cublasStatus_t const status = status_of(handle);
  if (status == CUBLAS_STATUS_SUCCESS) {
    *handle = {.device = handle->device, .stream = stream};
  }
  return status;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, std::size_t bytes) {
  cublasStatus_t const status = status_of(handle);
  if (status != CUBLAS_STATUS_SUCCESS) {
    return status;
  }
  if ((workspace == nullptr && bytes != 0) || reinterpret_cast<std::uintptr_t>(workspace) % 256 != 0) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  *handle = {handle->device, handle->stream, workspace, bytes, true};
  return CUBLAS_STATUS_SUCCESS;
}

/// Accepts only factors in host memory.
cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
  cublasStatus_t const status = status_of(handle);
  return status == CUBLAS_STATUS_SUCCESS && mode != CUBLAS_POINTER_MODE_HOST ? CUBLAS_STATUS_NOT_SUPPORTED : status;
}

/// Accepts modes that do not round floats before they are multiplied; all of them compute alike here.
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  cublasStatus_t const status = status_of(handle);
  int const kind = mode & ~CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
  bool const is_known = kind == CUBLAS_DEFAULT_MATH || kind == CUBLAS_PEDANTIC_MATH;
  return status == CUBLAS_STATUS_SUCCESS && !is_known ? CUBLAS_STATUS_NOT_SUPPORTED : status;
}

cublasStatus_t cublasGemmEx_64(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                               std::int64_t m, std::int64_t n, std::int64_t k, void const* alpha, void const* a,
                               cudaDataType_t a_type, std::int64_t lda, void const* b, cudaDataType_t b_type,
                               std::int64_t ldb, void const* beta, void* c, cudaDataType_t c_type, std::int64_t ldc,
                               cublasComputeType_t compute, cublasGemmAlgo_t) {
  cublasStatus_t const status = status_of(handle);
  if (status != CUBLAS_STATUS_SUCCESS) {
    return status;
  }
  bool const transposes_a = transa != CUBLAS_OP_N;
  bool const transposes_b = transb != CUBLAS_OP_N;
  if (!is_operation(transa) || !is_operation(transb) ||
      !sizes{m, n, k, lda, ldb, ldc}.fit(transposes_a, transposes_b) || alpha == nullptr || beta == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  auto const factor_type = number_of(a_type);
  auto const result_type = number_of(c_type);
  if (!factor_type || !result_type || b_type != a_type ||
      (*result_type != *factor_type && *result_type != number::float32) ||
      (compute != CUBLAS_COMPUTE_32F && compute != CUBLAS_COMPUTE_32F_PEDANTIC)) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (m == 0 || n == 0) {
    return CUBLAS_STATUS_SUCCESS;
  }
  if (c == nullptr || !is_aligned(c, *result_type) ||
      (k != 0 && (a == nullptr || b == nullptr || !is_aligned(a, *factor_type) || !is_aligned(b, *factor_type)))) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  multiplication const work{
      .m = static_cast<std::size_t>(m),
      .n = static_cast<std::size_t>(n),
      .k = static_cast<std::size_t>(k),
      .a_transposed = transposes_a,
      .b_transposed = transposes_b,
      .a = transposes_a ? matrix(*factor_type, a, k, m, lda) : matrix(*factor_type, a, m, k, lda),
      .b = transposes_b ? matrix(*factor_type, b, n, k, ldb) : matrix(*factor_type, b, k, n, ldb),
      .c = matrix(*result_type, c, m, n, ldc),
      .factors = {*static_cast<float const*>(alpha), *static_cast<float const*>(beta)},
      .workspace = handle->workspace,
      .workspace_bytes = poisoned_bytes(*handle, static_cast<std::size_t>(m) * static_cast<std::size_t>(n)),
  };
  return enqueue(handle->stream, work) == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

char const* cublasGetStatusName(cublasStatus_t status) {
  return text_of(status).name;
}
char const* cublasGetStatusString(cublasStatus_t status) {
  return text_of(status).sense;
}
