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
void round_to_tf32(std::vector<float>& all) {
  for (float& x : all) {
    auto const bits = std::bit_cast<std::uint32_t>(x);
    if ((bits & 0x7f800000U) != 0x7f800000U) {
      x = std::bit_cast<float>((bits + 0xfffU + ((bits >> 13) & 1U)) & ~0x1fffU);
    }
  }
}

/// Memory passed by a caller.
struct given {
  void const* first;
  std::size_t count;  ///< numbers, or bytes of a workspace
};

/// The work of a convolution: `compute` makes the result from two factors.
template <class Compute>
struct convolving {
  described_convolution what;
  numbers left, right, made;
  blend by;
  given workspace;
  std::size_t turn;
  Compute compute;

  void operator()() const {
    spoil(workspace.first, workspace.count);
    if (by.beta == 0) {
      // The result shares no memory with the factors, so it is spoilt before they are read.
      spoil(made.first, made.bytes());
    }
    store(compute(what.sizes, factor(left), factor(right), turn).data(), made, by);
    spoil(workspace.first, workspace.count);
  }

 private:
  [[nodiscard]] std::vector<float> factor(numbers const& of) const {
    std::vector<float> all = floats(of);
    if (what.as_tf32) {
      round_to_tf32(all);
    }
    return all;
  }
};

/// A different first summand each time, for algorithms that are not deterministic.
[[nodiscard]] std::size_t next_turn() {
  static std::atomic<std::size_t> last{0};
  return ++last;
}

/// Enqueues the work on the handle's stream if all arguments are valid.
template <class Algorithm, class Compute>
[[nodiscard]] cudnnStatus_t run(cudnnHandle_t handle, described_convolution const& what, way<Algorithm> const& how,
                                void const* alpha, void const* beta, given left, given right, given made,
                                given workspace, Compute compute) {
  if (what.status != CUDNN_STATUS_SUCCESS) {
    return what.status;
  }
  if (how.status != CUDNN_STATUS_SUCCESS) {
    return how.status;
  }
  if (alpha == nullptr || beta == nullptr || workspace.count < how.workspace(what.sizes) ||
      (workspace.first == nullptr && workspace.count != 0)) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  for (given const& one : {left, right, made}) {
    if (one.first == nullptr || !aligned(one.first, what.type)) {
      return CUDNN_STATUS_BAD_PARAM;
    }
  }
  auto const all = [&](given const& of) { return numbers{what.type, of.first, of.count}; };
  convolving<Compute> const work{what,
                                 all(left),
                                 all(right),
                                 all(made),
                                 {*static_cast<float const*>(alpha), *static_cast<float const*>(beta)},
                                 workspace,
                                 how.determinism == CUDNN_DETERMINISTIC ? 0 : next_turn(),
                                 compute};
  return enqueue(handle->stream, work) == cudaSuccess ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

template <class Algorithm, std::size_t Count, class Known>
[[nodiscard]] cudnnStatus_t list(way<Algorithm> const (&ways)[Count], described_convolution const& what,
                                 cudnnConvolutionDescriptor_t how, int requested, int* returned, Known* results) {
  if (what.status != CUDNN_STATUS_SUCCESS) {
    return what.status;
  }
  if (requested < 1 || returned == nullptr || results == nullptr) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  *returned = static_cast<int>(tell(ways, what.sizes, how->math, results, static_cast<std::size_t>(requested)));
  return CUDNN_STATUS_SUCCESS;
}

template <class Algorithm>
[[nodiscard]] cudnnStatus_t workspace_of(described_convolution const& what, way<Algorithm> const& how,
                                         std::size_t* bytes) {
  if (what.status != CUDNN_STATUS_SUCCESS) {
    return what.status;
  }
  if (bytes == nullptr) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  *bytes = how.workspace(what.sizes);
  return how.status;
}

}  // namespace
}  // namespace tutti::emulated_gpu

using namespace tutti::emulated_gpu;

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t handle, cudnnTensorDescriptor_t x,
                                                     cudnnFilterDescriptor_t w, cudnnConvolutionDescriptor_t how,
                                                     cudnnTensorDescriptor_t y, int requested, int* returned,
                                                     cudnnConvolutionFwdAlgoPerf_t* results) {
  return list(forward_ways, described(handle, x, w, y, how), how, requested, returned, results);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(cudnnHandle_t handle, cudnnTensorDescriptor_t x,
                                                            cudnnTensorDescriptor_t dy,
                                                            cudnnConvolutionDescriptor_t how,
                                                            cudnnFilterDescriptor_t dw, int requested, int* returned,
                                                            cudnnConvolutionBwdFilterAlgoPerf_t* results) {
  return list(filter_ways, described(handle, x, dw, dy, how), how, requested, returned, results);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnnHandle_t handle, cudnnFilterDescriptor_t w,
                                                          cudnnTensorDescriptor_t dy, cudnnConvolutionDescriptor_t how,
                                                          cudnnTensorDescriptor_t dx, int requested, int* returned,
                                                          cudnnConvolutionBwdDataAlgoPerf_t* results) {
  return list(data_ways, described(handle, dx, w, dy, how), how, requested, returned, results);
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t handle, cudnnTensorDescriptor_t x,
                                                      cudnnFilterDescriptor_t w, cudnnConvolutionDescriptor_t how,
                                                      cudnnTensorDescriptor_t y, cudnnConvolutionFwdAlgo_t algorithm,
                                                      std::size_t* bytes) {
  return workspace_of(described(handle, x, w, y, how), way_of(forward_ways, algorithm), bytes);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t handle, cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t dy, cudnnConvolutionDescriptor_t how,
    cudnnFilterDescriptor_t dw, cudnnConvolutionBwdFilterAlgo_t algorithm, std::size_t* bytes) {
  return workspace_of(described(handle, x, dw, dy, how), way_of(filter_ways, algorithm), bytes);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(cudnnHandle_t handle, cudnnFilterDescriptor_t w,
                                                           cudnnTensorDescriptor_t dy, cudnnConvolutionDescriptor_t how,
                                                           cudnnTensorDescriptor_t dx,
                                                           cudnnConvolutionBwdDataAlgo_t algorithm,
                                                           std::size_t* bytes) {
  return workspace_of(described(handle, dx, w, dy, how), way_of(data_ways, algorithm), bytes);
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, void const* alpha, cudnnTensorDescriptor_t x_of,
                                      void const* x, cudnnFilterDescriptor_t w_of, void const* w,
                                      cudnnConvolutionDescriptor_t how, cudnnConvolutionFwdAlgo_t algorithm,
                                      void* workspace, std::size_t bytes, void const* beta,
                                      cudnnTensorDescriptor_t y_of, void* y) {
  auto const what = described(handle, x_of, w_of, y_of, how);
  return run(
      handle, what, way_of(forward_ways, algorithm), alpha, beta, {x, what.sizes.x_numbers()},
      {w, what.sizes.w_numbers()}, {y, what.sizes.y_numbers()}, {workspace, bytes},
      [](auto const& sizes, auto const& left, auto const& right, std::size_t) { return convolve(sizes, left, right); });
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, void const* alpha, cudnnTensorDescriptor_t x_of,
                                             void const* x, cudnnTensorDescriptor_t dy_of, void const* dy,
                                             cudnnConvolutionDescriptor_t how,
                                             cudnnConvolutionBwdFilterAlgo_t algorithm, void* workspace,
                                             std::size_t bytes, void const* beta, cudnnFilterDescriptor_t dw_of,
                                             void* dw) {
  auto const what = described(handle, x_of, dw_of, dy_of, how);
  return run(handle, what, way_of(filter_ways, algorithm), alpha, beta, {x, what.sizes.x_numbers()},
             {dy, what.sizes.y_numbers()}, {dw, what.sizes.w_numbers()}, {workspace, bytes}, convolve_to_filters);
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, void const* alpha, cudnnFilterDescriptor_t w_of,
                                           void const* w, cudnnTensorDescriptor_t dy_of, void const* dy,
                                           cudnnConvolutionDescriptor_t how, cudnnConvolutionBwdDataAlgo_t algorithm,
                                           void* workspace, std::size_t bytes, void const* beta,
                                           cudnnTensorDescriptor_t dx_of, void* dx) {
  auto const what = described(handle, dx_of, w_of, dy_of, how);
  return run(handle, what, way_of(data_ways, algorithm), alpha, beta, {w, what.sizes.w_numbers()},
             {dy, what.sizes.y_numbers()}, {dx, what.sizes.x_numbers()}, {workspace, bytes}, convolve_to_images);
}
