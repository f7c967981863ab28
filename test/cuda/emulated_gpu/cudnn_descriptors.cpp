// SPDX-License-Identifier: Apache-2.0
// Handles and descriptors of the cuDNN of an emulated GPU, and the names of its statuses.
#include "cudnn_descriptors.hpp"

#include "enqueue.hpp"

#include <cstdint>
#include <cudnn.h>

namespace tutti::emulated_gpu {
namespace {

template <class T>
[[nodiscard]] cudnnStatus_t create(T** result) {
  if (result == nullptr) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  *result = new T;
  return CUDNN_STATUS_SUCCESS;
}

template <class T>
[[nodiscard]] cudnnStatus_t destroy(T* descriptor) {
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}

template <class T>
[[nodiscard]] cudnnStatus_t set(T* descriptor, shape const& value) {
  if (descriptor == nullptr) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  cudnnStatus_t const status = status_of(value);
  if (status == CUDNN_STATUS_SUCCESS) {
    descriptor->shape = value;
  }
  return status;
}

/// True if there are more numbers than cuDNN allows in an image tensor.
[[nodiscard]] bool has_too_many_numbers(shape const& s) {
  std::int64_t count = 1;
  for (int const size : s.sizes) {
    count *= size;
    if (count > INT32_MAX) {
      return true;
    }
  }
  return false;
}

struct status_text {
  cudnnStatus_t status;
  char const* name;
};
constexpr status_text status_texts[] = {{CUDNN_STATUS_SUCCESS, "CUDNN_STATUS_SUCCESS"},
                                        {CUDNN_STATUS_NOT_INITIALIZED, "CUDNN_STATUS_NOT_INITIALIZED"},
                                        {CUDNN_STATUS_BAD_PARAM, "CUDNN_STATUS_BAD_PARAM"},
                                        {CUDNN_STATUS_NOT_SUPPORTED, "CUDNN_STATUS_NOT_SUPPORTED"},
                                        {CUDNN_STATUS_EXECUTION_FAILED, "CUDNN_STATUS_EXECUTION_FAILED"}};

}  // namespace
}  // namespace tutti::emulated_gpu

using namespace tutti::emulated_gpu;

char const* cudnnGetErrorString(cudnnStatus_t status) {
  for (status_text const& w : status_texts) {
    if (w.status == status) {
      return w.name;
    }
  }
  return "CUDNN_UNKNOWN_STATUS";
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  if (handle == nullptr) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  int const device = current_device();
  if (device < 0) {
    return CUDNN_STATUS_NOT_INITIALIZED;
  }
  *handle = new cudnnContext{.device = device};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  return destroy(handle);
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  cudnnStatus_t const status = status_of(handle);
  if (status == CUDNN_STATUS_SUCCESS) {
    handle->stream = stream;
  }
  return status;
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* descriptor) {
  return create(descriptor);
}
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t descriptor) {
  return destroy(descriptor);
}
cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* descriptor) {
  return create(descriptor);
}
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t descriptor) {
  return destroy(descriptor);
}
cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* descriptor) {
  return create(descriptor);
}
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t descriptor) {
  return destroy(descriptor);
}

cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t descriptor, cudnnTensorFormat_t format,
                                         cudnnDataType_t type, int n, int c, int h, int w) {
  shape const value{format, type, {n, c, h, w}};
  cudnnStatus_t const status = set(descriptor, value);
  return status == CUDNN_STATUS_SUCCESS && has_too_many_numbers(value) ? CUDNN_STATUS_NOT_SUPPORTED : status;
}

cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t descriptor, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int k, int c, int h, int w) {
  return set(descriptor, {format, type, {k, c, h, w}});
}

cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t descriptor, int pad_h, int pad_w, int u,
                                              int v, int dilation_h, int dilation_w, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t compute_type) {
  bool const has_valid_sizes = pad_h >= 0 && pad_w >= 0 && u > 0 && v > 0 && dilation_h > 0 && dilation_w > 0;
  bool const is_known_mode = (mode == CUDNN_CONVOLUTION || mode == CUDNN_CROSS_CORRELATION) && is_known(compute_type);
  if (descriptor == nullptr || !has_valid_sizes || !is_known_mode) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  *descriptor = {true, {pad_h, pad_w}, {u, v},           {dilation_h, dilation_w},
                 mode, compute_type,   descriptor->math, descriptor->groups};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t descriptor, int groups) {
  if (descriptor == nullptr || groups < 1) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  descriptor->groups = groups;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t descriptor, cudnnMathType_t math) {
  if (descriptor == nullptr || math < CUDNN_DEFAULT_MATH || math > CUDNN_FMA_MATH) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  descriptor->math = math;
  return CUDNN_STATUS_SUCCESS;
}
