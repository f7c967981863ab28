// SPDX-License-Identifier: Apache-2.0
// Handles and descriptors of the cuDNN of an emulated GPU, and the names of its statuses.
#include "cudnn_descriptors.hpp"

#include "enqueue.hpp"

#include <cstdint>
#include <cudnn.h>

namespace tutti::emulated_gpu {
namespace {

template <class T>
[[nodiscard]] cudnnStatus_t create(T** it) {
  if (it == nullptr) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  *it = new T;
  return CUDNN_STATUS_SUCCESS;
}

template <class T>
[[nodiscard]] cudnnStatus_t destroy(T* it) {
  delete it;
  return CUDNN_STATUS_SUCCESS;
}

template <class T>
[[nodiscard]] cudnnStatus_t set(T* descriptor, sized const& to) {
  if (descriptor == nullptr) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  cudnnStatus_t const status = status_of(to);
  if (status == CUDNN_STATUS_SUCCESS) {
    descriptor->it = to;
  }
  return status;
}

/// True if there are more numbers than cuDNN allows in an image tensor.
[[nodiscard]] bool too_many(sized const& it) {
  std::int64_t count = 1;
  for (int const size : it.sizes) {
    count *= size;
    if (count > INT32_MAX) {
      return true;
    }
  }
  return false;
}

struct words {
  cudnnStatus_t status;
  char const* name;
};
constexpr words all_words[] = {{CUDNN_STATUS_SUCCESS, "CUDNN_STATUS_SUCCESS"},
                               {CUDNN_STATUS_NOT_INITIALIZED, "CUDNN_STATUS_NOT_INITIALIZED"},
                               {CUDNN_STATUS_BAD_PARAM, "CUDNN_STATUS_BAD_PARAM"},
                               {CUDNN_STATUS_NOT_SUPPORTED, "CUDNN_STATUS_NOT_SUPPORTED"},
                               {CUDNN_STATUS_EXECUTION_FAILED, "CUDNN_STATUS_EXECUTION_FAILED"}};

}  // namespace
}  // namespace tutti::emulated_gpu

using namespace tutti::emulated_gpu;

char const* cudnnGetErrorString(cudnnStatus_t status) {
  for (words const& w : all_words) {
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

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* it) {
  return create(it);
}
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t it) {
  return destroy(it);
}
cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* it) {
  return create(it);
}
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t it) {
  return destroy(it);
}
cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* it) {
  return create(it);
}
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t it) {
  return destroy(it);
}

cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t it, cudnnTensorFormat_t format, cudnnDataType_t type,
                                         int n, int c, int h, int w) {
  sized const to{format, type, {n, c, h, w}};
  cudnnStatus_t const status = set(it, to);
  return status == CUDNN_STATUS_SUCCESS && too_many(to) ? CUDNN_STATUS_NOT_SUPPORTED : status;
}

cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t it, cudnnDataType_t type, cudnnTensorFormat_t format,
                                         int k, int c, int h, int w) {
  return set(it, {format, type, {k, c, h, w}});
}

cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t it, int pad_h, int pad_w, int u, int v,
                                              int dilation_h, int dilation_w, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t computed_in) {
  bool const sizes = pad_h >= 0 && pad_w >= 0 && u > 0 && v > 0 && dilation_h > 0 && dilation_w > 0;
  bool const known = (mode == CUDNN_CONVOLUTION || mode == CUDNN_CROSS_CORRELATION) && is_known(computed_in);
  if (it == nullptr || !sizes || !known) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  *it = {true, {pad_h, pad_w}, {u, v}, {dilation_h, dilation_w}, mode, computed_in, it->math, it->groups};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t it, int groups) {
  if (it == nullptr || groups < 1) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  it->groups = groups;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t it, cudnnMathType_t math) {
  if (it == nullptr || math < CUDNN_DEFAULT_MATH || math > CUDNN_FMA_MATH) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  it->math = math;
  return CUDNN_STATUS_SUCCESS;
}
