// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "convolution.hpp"
#include "enqueue.hpp"
#include "numbers.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cudnn.h>
#include <optional>

namespace tutti::emulated_gpu {

/// The shape in a descriptor: N, C, H and W of images, or K, C, R and S of filters.
struct shape {
  cudnnTensorFormat_t format;
  cudnnDataType_t type;
  std::array<int, 4> sizes;

  [[nodiscard]] std::size_t size(std::size_t i) const { return static_cast<std::size_t>(sizes[i]); }
};

}  // namespace tutti::emulated_gpu

struct cudnnContext {
  int device = 0;
  cudaStream_t stream = nullptr;
};
struct cudnnTensorStruct {
  std::optional<tutti::emulated_gpu::shape> shape;
};
struct cudnnFilterStruct {
  std::optional<tutti::emulated_gpu::shape> shape;
};
struct cudnnConvolutionStruct {
  bool is_set = false;
  std::array<int, 2> pad{};
  std::array<int, 2> stride{};
  std::array<int, 2> dilation{};
  cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  cudnnDataType_t compute_type = CUDNN_DATA_FLOAT;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  int groups = 1;
};

namespace tutti::emulated_gpu {

/// The status of a handle in this thread.
[[nodiscard]] inline cudnnStatus_t status_of(cudnnHandle_t handle) {
  return handle == nullptr                    ? CUDNN_STATUS_BAD_PARAM
         : handle->device != current_device() ? CUDNN_STATUS_EXECUTION_FAILED
                                              : CUDNN_STATUS_SUCCESS;
}

[[nodiscard]] inline bool is_known(cudnnDataType_t type) {
  return type >= CUDNN_DATA_FLOAT && type <= CUDNN_DATA_FAST_FLOAT_FOR_FP8;
}

/// Checks a descriptor's sizes, type and layout. cuDNN knows more types and layouts than are computed here.
[[nodiscard]] inline cudnnStatus_t status_of(shape const& s) {
  for (int const size : s.sizes) {
    if (size <= 0) {
      return CUDNN_STATUS_BAD_PARAM;
    }
  }
  bool const layout = s.format == CUDNN_TENSOR_NCHW || s.format == CUDNN_TENSOR_NHWC;
  return layout && is_known(s.type) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

[[nodiscard]] inline std::optional<number> number_of(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_FLOAT:
      return number::float32;
    case CUDNN_DATA_HALF:
      return number::float16;
    case CUDNN_DATA_BFLOAT16:
      return number::bfloat16;
    default:
      return {};
  }
}

/// A convolution as its descriptors define it.
struct described_convolution {
  cudnnStatus_t status;  ///< all other members are set only if it is success
  convolution sizes{};
  number type{};
  bool uses_tf32 = false;  ///< true if floats may be rounded before they are multiplied
};

/// The size of a convolution's result along one side; 0 if the window does not fit.
[[nodiscard]] inline std::int64_t output_size(std::int64_t image, std::int64_t pad, std::int64_t window,
                                              std::int64_t stride) {
  std::int64_t const last_position = image + 2 * pad - window;
  return last_position < 0 ? 0 : last_position / stride + 1;
}

/// True if the channels, filters and sizes of x, w and y match.
[[nodiscard]] inline bool fit(shape const& x, shape const& w, shape const& y,
                              cudnnConvolutionStruct const& descriptor) {
  auto const side = [&](std::size_t i) {
    return output_size(x.sizes[2 + i], descriptor.pad[i], w.sizes[2 + i], descriptor.stride[i]) == y.sizes[2 + i];
  };
  return x.sizes[0] == y.sizes[0] && x.sizes[1] % descriptor.groups == 0 &&
         w.sizes[1] == x.sizes[1] / descriptor.groups && w.sizes[0] % descriptor.groups == 0 &&
         w.sizes[0] == y.sizes[1] && side(0) && side(1);
}

[[nodiscard]] inline convolution sizes_of(shape const& x, shape const& w, shape const& y,
                                          cudnnConvolutionStruct const& descriptor) {
  auto const size = [](int i) { return static_cast<std::size_t>(i); };
  return {.images = x.size(0),
          .channels = x.size(1),
          .rows = x.size(2),
          .columns = x.size(3),
          .filters = w.size(0),
          .filter_rows = w.size(2),
          .filter_columns = w.size(3),
          .output_rows = y.size(2),
          .output_columns = y.size(3),
          .pad_rows = size(descriptor.pad[0]),
          .pad_columns = size(descriptor.pad[1]),
          .row_stride = size(descriptor.stride[0]),
          .column_stride = size(descriptor.stride[1]),
          .groups = size(descriptor.groups)};
}

/// Reads the descriptors of a call, and checks that it is supported.
[[nodiscard]] inline described_convolution describe(cudnnHandle_t handle, cudnnTensorDescriptor_t x_descriptor,
                                                    cudnnFilterDescriptor_t w_descriptor,
                                                    cudnnTensorDescriptor_t y_descriptor,
                                                    cudnnConvolutionDescriptor_t descriptor) {
  if (cudnnStatus_t const status = status_of(handle); status != CUDNN_STATUS_SUCCESS) {
    return {status};
  }
  if (x_descriptor == nullptr || w_descriptor == nullptr || y_descriptor == nullptr || descriptor == nullptr ||
      !x_descriptor->shape || !w_descriptor->shape || !y_descriptor->shape || !descriptor->is_set) {
    return {CUDNN_STATUS_BAD_PARAM};
  }
  shape const& x = *x_descriptor->shape;
  shape const& w = *w_descriptor->shape;
  shape const& y = *y_descriptor->shape;
  bool const has_no_dilation = descriptor->dilation == std::array{1, 1};
  if (x.type != w.type || x.type != y.type || (has_no_dilation && !fit(x, w, y, *descriptor))) {
    return {CUDNN_STATUS_BAD_PARAM};
  }
  auto const type = number_of(x.type);
  bool const channels_last =
      x.format == CUDNN_TENSOR_NHWC && w.format == CUDNN_TENSOR_NHWC && y.format == CUDNN_TENSOR_NHWC;
  if (!type || !channels_last || !has_no_dilation || descriptor->mode != CUDNN_CROSS_CORRELATION ||
      descriptor->compute_type != CUDNN_DATA_FLOAT) {
    return {CUDNN_STATUS_NOT_SUPPORTED};
  }
  return {CUDNN_STATUS_SUCCESS, sizes_of(x, w, y, *descriptor), *type,
          *type == number::float32 && descriptor->math != CUDNN_FMA_MATH};
}

}  // namespace tutti::emulated_gpu
