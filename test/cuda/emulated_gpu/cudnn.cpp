// SPDX-License-Identifier: Apache-2.0
// The part of cuDNN used by tutti, computed by the host in the order of the emulated GPU's streams. Arguments are
// refused as by NVIDIA's library; everything else is unsupported, such as images whose channels are not contiguous.
// Floats are rounded to TF32 unless a descriptor forbids it.
#include "convolution.hpp"
#include "cudnn_algorithms.hpp"
#include "cudnn_descriptors.hpp"
#include "enqueue.hpp"
#include "numbers.hpp"

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cudnn.h>
#include <vector>

namespace tutti::emulated_gpu {
namespace {

/// Rounds floats to the 11 bits of precision of tensor cores.
void round_to_tf32(std::vector<float>& values) {
  for (float& x : values) {
    auto const bits = std::bit_cast<std::uint32_t>(x);
    if ((bits & 0x7f800000U) != 0x7f800000U) {
      x = std::bit_cast<float>((bits + 0xfffU + ((bits >> 13) & 1U)) & ~0x1fffU);
    }
  }
}

/// Memory passed by a caller.
struct buffer {
  void const* first;
  std::size_t count;  ///< numbers, or bytes of a workspace
};

/// The work of a convolution: `compute` makes the result from two factors.
template <class Compute>
struct convolution_work {
  described_convolution description;
  numbers left, right, result;
  blend factors;
  buffer workspace;
  std::size_t turn;
  Compute compute;

  void operator()() const {
    poison(workspace.first, workspace.count);
    if (factors.beta == 0) {
      // The result shares no memory with the factors, so it is poisoned before they are read.
      poison(result.first, result.bytes());
    }
    store(compute(description.sizes, factor(left), factor(right), turn).data(), result, factors);
    poison(workspace.first, workspace.count);
  }

 private:
  [[nodiscard]] std::vector<float> factor(numbers const& operand) const {
    std::vector<float> values = floats(operand);
    if (description.uses_tf32) {
      round_to_tf32(values);
    }
    return values;
  }
};

/// A different first summand each time, for algorithms that are not deterministic.
[[nodiscard]] std::size_t next_turn() {
  static std::atomic<std::size_t> last{0};
  return ++last;
}

/// Enqueues the work on the handle's stream if all arguments are valid.
template <class Algorithm, class Compute>
[[nodiscard]] cudnnStatus_t run(cudnnHandle_t handle, described_convolution const& description,
                                algorithm_info<Algorithm> const& algorithm, void const* alpha, void const* beta,
                                buffer left, buffer right, buffer result, buffer workspace, Compute compute) {
  if (description.status != CUDNN_STATUS_SUCCESS) {
    return description.status;
  }
  if (algorithm.status != CUDNN_STATUS_SUCCESS) {
    return algorithm.status;
  }
  if (alpha == nullptr || beta == nullptr || workspace.count < algorithm.workspace(description.sizes) ||
      (workspace.first == nullptr && workspace.count != 0)) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  for (buffer const& argument : {left, right, result}) {
    if (argument.first == nullptr || !is_aligned(argument.first, description.type)) {
      return CUDNN_STATUS_BAD_PARAM;
    }
  }
  auto const to_numbers = [&](buffer const& memory) { return numbers{description.type, memory.first, memory.count}; };
  convolution_work<Compute> const work{description,
                                       to_numbers(left),
                                       to_numbers(right),
                                       to_numbers(result),
                                       {*static_cast<float const*>(alpha), *static_cast<float const*>(beta)},
                                       workspace,
                                       algorithm.determinism == CUDNN_DETERMINISTIC ? 0 : next_turn(),
                                       compute};
  return enqueue(handle->stream, work) == cudaSuccess ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

template <class Algorithm, std::size_t Count, class Performance>
[[nodiscard]] cudnnStatus_t list(algorithm_info<Algorithm> const (&algorithms)[Count],
                                 described_convolution const& description, cudnnConvolutionDescriptor_t descriptor,
                                 int capacity, int* count, Performance* results) {
  if (description.status != CUDNN_STATUS_SUCCESS) {
    return description.status;
  }
  if (capacity < 1 || count == nullptr || results == nullptr) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  *count = static_cast<int>(describe_algorithms(algorithms, description.sizes, descriptor->math, results,
                                                static_cast<std::size_t>(capacity)));
  return CUDNN_STATUS_SUCCESS;
}

template <class Algorithm>
[[nodiscard]] cudnnStatus_t workspace_of(described_convolution const& description,
                                         algorithm_info<Algorithm> const& algorithm, std::size_t* bytes) {
  if (description.status != CUDNN_STATUS_SUCCESS) {
    return description.status;
  }
  if (bytes == nullptr) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  *bytes = algorithm.workspace(description.sizes);
  return algorithm.status;
}

}  // namespace
}  // namespace tutti::emulated_gpu

using namespace tutti::emulated_gpu;

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t handle, cudnnTensorDescriptor_t x,
                                                     cudnnFilterDescriptor_t w, cudnnConvolutionDescriptor_t descriptor,
                                                     cudnnTensorDescriptor_t y, int capacity, int* count,
                                                     cudnnConvolutionFwdAlgoPerf_t* results) {
  return list(forward_algorithms, describe(handle, x, w, y, descriptor), descriptor, capacity, count, results);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(cudnnHandle_t handle, cudnnTensorDescriptor_t x,
                                                            cudnnTensorDescriptor_t dy,
                                                            cudnnConvolutionDescriptor_t descriptor,
                                                            cudnnFilterDescriptor_t dw, int capacity, int* count,
                                                            cudnnConvolutionBwdFilterAlgoPerf_t* results) {
  return list(filter_algorithms, describe(handle, x, dw, dy, descriptor), descriptor, capacity, count, results);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnnHandle_t handle, cudnnFilterDescriptor_t w,
                                                          cudnnTensorDescriptor_t dy,
                                                          cudnnConvolutionDescriptor_t descriptor,
                                                          cudnnTensorDescriptor_t dx, int capacity, int* count,
                                                          cudnnConvolutionBwdDataAlgoPerf_t* results) {
  return list(data_algorithms, describe(handle, dx, w, dy, descriptor), descriptor, capacity, count, results);
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t handle, cudnnTensorDescriptor_t x,
                                                      cudnnFilterDescriptor_t w,
                                                      cudnnConvolutionDescriptor_t descriptor,
                                                      cudnnTensorDescriptor_t y, cudnnConvolutionFwdAlgo_t algorithm,
                                                      std::size_t* bytes) {
  return workspace_of(describe(handle, x, w, y, descriptor), find_algorithm(forward_algorithms, algorithm), bytes);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(cudnnHandle_t handle, cudnnTensorDescriptor_t x,
                                                             cudnnTensorDescriptor_t dy,
                                                             cudnnConvolutionDescriptor_t descriptor,
                                                             cudnnFilterDescriptor_t dw,
                                                             cudnnConvolutionBwdFilterAlgo_t algorithm,
                                                             std::size_t* bytes) {
  return workspace_of(describe(handle, x, dw, dy, descriptor), find_algorithm(filter_algorithms, algorithm), bytes);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(cudnnHandle_t handle, cudnnFilterDescriptor_t w,
                                                           cudnnTensorDescriptor_t dy,
                                                           cudnnConvolutionDescriptor_t descriptor,
                                                           cudnnTensorDescriptor_t dx,
                                                           cudnnConvolutionBwdDataAlgo_t algorithm,
                                                           std::size_t* bytes) {
  return workspace_of(describe(handle, dx, w, dy, descriptor), find_algorithm(data_algorithms, algorithm), bytes);
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, void const* alpha, cudnnTensorDescriptor_t x_descriptor,
                                      void const* x, cudnnFilterDescriptor_t w_descriptor, void const* w,
                                      cudnnConvolutionDescriptor_t descriptor, cudnnConvolutionFwdAlgo_t algorithm,
                                      void* workspace, std::size_t bytes, void const* beta,
                                      cudnnTensorDescriptor_t y_descriptor, void* y) {
  auto const description = describe(handle, x_descriptor, w_descriptor, y_descriptor, descriptor);
  return run(handle, description, find_algorithm(forward_algorithms, algorithm), alpha, beta,
             {x, description.sizes.x_numbers()}, {w, description.sizes.w_numbers()}, {y, description.sizes.y_numbers()},
             {workspace, bytes}, [](auto const& sizes, auto const& left, auto const& right, std::size_t) {
               return convolve(sizes, left, right);
             });
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, void const* alpha,
                                             cudnnTensorDescriptor_t x_descriptor, void const* x,
                                             cudnnTensorDescriptor_t dy_descriptor, void const* dy,
                                             cudnnConvolutionDescriptor_t descriptor,
                                             cudnnConvolutionBwdFilterAlgo_t algorithm, void* workspace,
                                             std::size_t bytes, void const* beta, cudnnFilterDescriptor_t dw_descriptor,
                                             void* dw) {
  auto const description = describe(handle, x_descriptor, dw_descriptor, dy_descriptor, descriptor);
  return run(handle, description, find_algorithm(filter_algorithms, algorithm), alpha, beta,
             {x, description.sizes.x_numbers()}, {dy, description.sizes.y_numbers()},
             {dw, description.sizes.w_numbers()}, {workspace, bytes}, convolve_to_filters);
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, void const* alpha,
                                           cudnnFilterDescriptor_t w_descriptor, void const* w,
                                           cudnnTensorDescriptor_t dy_descriptor, void const* dy,
                                           cudnnConvolutionDescriptor_t descriptor,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void* workspace, std::size_t bytes,
                                           void const* beta, cudnnTensorDescriptor_t dx_descriptor, void* dx) {
  auto const description = describe(handle, dx_descriptor, w_descriptor, dy_descriptor, descriptor);
  return run(handle, description, find_algorithm(data_algorithms, algorithm), alpha, beta,
             {w, description.sizes.w_numbers()}, {dy, description.sizes.y_numbers()},
             {dx, description.sizes.x_numbers()}, {workspace, bytes}, convolve_to_images);
}
