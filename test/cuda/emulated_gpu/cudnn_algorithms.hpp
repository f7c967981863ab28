// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "convolution.hpp"

#include <algorithm>
#include <cstddef>
#include <cudnn.h>
#include <iterator>

namespace tutti::emulated_gpu {

/// An algorithm for a convolution, as cuDNN names it.
template <class Algorithm>
struct algorithm_info {
  Algorithm algorithm;
  cudnnStatus_t status;  ///< success if it supports images with contiguous channels
  cudnnDeterminism_t determinism;
  std::size_t (*workspace)(convolution const&);  ///< bytes
};

[[nodiscard]] inline std::size_t no_bytes(convolution const&) {
  return 0;
}
/// A number for each pixel under each position of a window.
[[nodiscard]] inline std::size_t bytes_of_indices(convolution const& sizes) {
  return sizes.positions() * sizes.filter_rows * sizes.filter_columns * sizeof(int);
}
/// Gradients of filters as floats.
[[nodiscard]] inline std::size_t bytes_of_filters(convolution const& sizes) {
  return sizes.w_numbers() * sizeof(float);
}
/// A part of the filters' transpose for each step of a window.
[[nodiscard]] inline std::size_t bytes_of_steps(convolution const& sizes) {
  return sizes.row_stride == 1 && sizes.column_stride == 1 ? 0 : bytes_of_filters(sizes);
}

// Algorithms that a caller may not take, or not always, come first, as in cuDNN, which sorts by expected speed. The
// caller must choose.
inline constexpr algorithm_info<cudnnConvolutionFwdAlgo_t> forward_algorithms[] = {
    {CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD, CUDNN_STATUS_NOT_SUPPORTED, CUDNN_DETERMINISTIC, no_bytes},
    {CUDNN_CONVOLUTION_FWD_ALGO_FFT, CUDNN_STATUS_NOT_SUPPORTED, CUDNN_DETERMINISTIC, no_bytes},
    {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, CUDNN_STATUS_SUCCESS, CUDNN_DETERMINISTIC, bytes_of_indices},
    {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, CUDNN_STATUS_SUCCESS, CUDNN_DETERMINISTIC, no_bytes},
    {CUDNN_CONVOLUTION_FWD_ALGO_GEMM, CUDNN_STATUS_NOT_SUPPORTED, CUDNN_DETERMINISTIC, no_bytes},
    {CUDNN_CONVOLUTION_FWD_ALGO_DIRECT, CUDNN_STATUS_NOT_SUPPORTED, CUDNN_DETERMINISTIC, no_bytes},
    {CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING, CUDNN_STATUS_NOT_SUPPORTED, CUDNN_DETERMINISTIC, no_bytes},
    {CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED, CUDNN_STATUS_NOT_SUPPORTED, CUDNN_DETERMINISTIC, no_bytes}};
inline constexpr algorithm_info<cudnnConvolutionBwdFilterAlgo_t> filter_algorithms[] = {
    {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3, CUDNN_STATUS_NOT_SUPPORTED, CUDNN_NON_DETERMINISTIC, no_bytes},
    {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0, CUDNN_STATUS_SUCCESS, CUDNN_NON_DETERMINISTIC, no_bytes},
    {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT, CUDNN_STATUS_NOT_SUPPORTED, CUDNN_DETERMINISTIC, no_bytes},
    {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, CUDNN_STATUS_SUCCESS, CUDNN_DETERMINISTIC, bytes_of_filters},
    {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED, CUDNN_STATUS_NOT_SUPPORTED, CUDNN_DETERMINISTIC, no_bytes},
    {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING, CUDNN_STATUS_NOT_SUPPORTED, CUDNN_DETERMINISTIC, no_bytes}};
inline constexpr algorithm_info<cudnnConvolutionBwdDataAlgo_t> data_algorithms[] = {
    {CUDNN_CONVOLUTION_BWD_DATA_ALGO_0, CUDNN_STATUS_SUCCESS, CUDNN_NON_DETERMINISTIC, no_bytes},
    {CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD, CUDNN_STATUS_NOT_SUPPORTED, CUDNN_DETERMINISTIC, no_bytes},
    {CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, CUDNN_STATUS_SUCCESS, CUDNN_DETERMINISTIC, bytes_of_steps},
    {CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT, CUDNN_STATUS_NOT_SUPPORTED, CUDNN_DETERMINISTIC, no_bytes},
    {CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING, CUDNN_STATUS_NOT_SUPPORTED, CUDNN_DETERMINISTIC, no_bytes},
    {CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED, CUDNN_STATUS_NOT_SUPPORTED, CUDNN_DETERMINISTIC, no_bytes}};

/// Returns the entry for an algorithm, or an entry whose status is failure.
template <class Algorithm, std::size_t Count>
[[nodiscard]] algorithm_info<Algorithm> find_algorithm(algorithm_info<Algorithm> const (&algorithms)[Count],
                                                       Algorithm a) {
  auto const* const entry = std::find_if(std::begin(algorithms), std::end(algorithms),
                                         [=](algorithm_info<Algorithm> const& w) { return w.algorithm == a; });
  return entry == std::end(algorithms)
             ? algorithm_info<Algorithm>{a, CUDNN_STATUS_BAD_PARAM, CUDNN_DETERMINISTIC, no_bytes}
             : *entry;
}

/// Describes as many algorithms as `capacity` allows. @returns their number
template <class Algorithm, std::size_t Count, class Performance>
[[nodiscard]] std::size_t describe_algorithms(algorithm_info<Algorithm> const (&algorithms)[Count],
                                              convolution const& sizes, cudnnMathType_t math, Performance* results,
                                              std::size_t capacity) {
  std::size_t const count = std::min(capacity, Count);
  for (std::size_t i = 0; i < count; ++i) {
    algorithm_info<Algorithm> const& w = algorithms[i];
    bool const is_supported = w.status == CUDNN_STATUS_SUCCESS;
    results[i] = {.algo = w.algorithm,
                  .status = w.status,
                  .time = is_supported ? static_cast<float>(i + 1) : -1.0F,
                  .memory = w.workspace(sizes),
                  .determinism = w.determinism,
                  .mathType = math,
                  .reserved = {}};
  }
  return count;
}

}  // namespace tutti::emulated_gpu
