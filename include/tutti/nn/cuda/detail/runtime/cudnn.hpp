// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/precision.hpp>
#include <tutti/nn/cuda/detail/runtime/handle.hpp>
#include <tutti/nn/cuda/detail/runtime/memory.hpp>
#include <tutti/nn/extend/geometry.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cudnn.h>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::runtime {

inline void check_status(cudnnStatus_t status, char const* purpose) {
  if (status != CUDNN_STATUS_SUCCESS) {
    throw std::runtime_error(std::string(purpose) + " failed: " + cudnnGetErrorString(status) +
                             "; CUDNN_LOGLEVEL_DBG=1 makes it say more");
  }
}

/// A cuDNN descriptor. Belongs to no device.
template <class T, cudnnStatus_t (*Create)(T*), cudnnStatus_t (*Destroy)(T)>
class descriptor {
 public:
  descriptor() { check_status(Create(&descriptor_), "beginning to use cuDNN"); }
  descriptor(descriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, nullptr)) {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~descriptor() {
    if (descriptor_ != nullptr) {
      static_cast<void>(Destroy(descriptor_));
    }
  }

  [[nodiscard]] T get() const noexcept { return descriptor_; }

 private:
  T descriptor_ = nullptr;
};
using cudnn_tensor = descriptor<cudnnTensorDescriptor_t, cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor>;
using cudnn_filter = descriptor<cudnnFilterDescriptor_t, cudnnCreateFilterDescriptor, cudnnDestroyFilterDescriptor>;
using cudnn_convolution =
    descriptor<cudnnConvolutionDescriptor_t, cudnnCreateConvolutionDescriptor, cudnnDestroyConvolutionDescriptor>;

/// Products of a layer's images and weights, by cuDNN.
///
/// Images have the CPU's order (NHWC). Weights have KRSC order, in which the numbers under the window for one output
/// channel are adjacent: the transpose of each group's matrix. Only deterministic algorithms that sum along the window
/// are used: transforms (Winograd, FFT) round differently from products of floats, or have no NHWC. Floats are
/// multiplied as floats (CUDNN_FMA_MATH), 16-bit numbers with sums in float.
///
/// The class uses the functions for single convolutions of cuDNN 7, which 9 still has: they name algorithms, and cuDNN
/// says which are deterministic, whereas its graphs name engines by numbers that change. They take and return weights
/// in the precision of the images, so the gradients of 16-bit weights are rounded to 16 bits, as in other trainers.
///
/// @pre the device is current in every call
class convolutions {
 public:
  /// @param stream a stream of that device
  convolutions(memory_and_order const& device, cudaStream_t stream, precision numbers)
      : numbers_(numbers), handle_(device, [](cudnnStatus_t s) { check_status(s, "beginning to use cuDNN"); }) {
    check_status(cudnnSetStream(handle_.get(), stream), "giving cuDNN a stream");
  }

  /// The algorithms for a layer and a number of rows, chosen once.
  class plan {
   public:
    plan(cudnnHandle_t handle, precision numbers, geometry::convolution const& l, std::size_t rows)
        : layer_(l), rows_(rows) {
      cudnnDataType_t const type = numbers == precision::float32    ? CUDNN_DATA_FLOAT
                                   : numbers == precision::bfloat16 ? CUDNN_DATA_BFLOAT16
                                                                    : CUDNN_DATA_HALF;
      describe(x_, type, l.input);
      describe(y_, type, l.output);
      int const side = as_int(l.filter_window.side);
      check_status(cudnnSetFilter4dDescriptor(w_.get(), type, CUDNN_TENSOR_NHWC, as_int(l.output.channels),
                                              as_int(l.input.channels / l.groups), side, side),
                   "describing weights to cuDNN");
      int const padding = as_int(l.filter_window.padding);
      int const stride = as_int(l.filter_window.stride);
      check_status(cudnnSetConvolution2dDescriptor(convolution_.get(), padding, padding, stride, stride, 1, 1,
                                                   CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
                   "describing a convolution to cuDNN");
      check_status(cudnnSetConvolutionGroupCount(convolution_.get(), as_int(l.groups)), "describing groups to cuDNN");
      check_status(cudnnSetConvolutionMathType(convolution_.get(),
                                               numbers == precision::float32 ? CUDNN_FMA_MATH : CUDNN_TENSOR_OP_MATH),
                   "saying to cuDNN how to multiply");
      choose(handle);
    }

    [[nodiscard]] bool serves(geometry::convolution const& l, std::size_t rows) const {
      return rows_ == rows && layer_ == l;
    }
    /// Bytes of device memory that the algorithms need temporarily.
    [[nodiscard]] std::size_t workspace() const noexcept {
      return (std::max)({forward_.bytes, weights_.bytes, input_.bytes});
    }

   private:
    friend class convolutions;

    template <class Algorithm>
    struct algorithm_choice {
      Algorithm algorithm{};
      std::size_t bytes = 0;
    };

    [[nodiscard]] static int as_int(std::size_t x) {
      if (x > INT32_MAX) {
        throw std::runtime_error("cuDNN takes sizes below 2^31, not " + std::to_string(x) + "; use smaller batches");
      }
      return static_cast<int>(x);
    }
    void describe(cudnn_tensor const& t, cudnnDataType_t type, image_shape const& image) const {
      check_status(cudnnSetTensor4dDescriptor(t.get(), CUDNN_TENSOR_NHWC, type, as_int(rows_), as_int(image.channels),
                                              as_int(image.rows), as_int(image.columns)),
                   "describing images to cuDNN");
    }

    /// The first allowed algorithm in the order of cuDNN's expected speed.
    /// @param bytes_of sets the bytes that an algorithm needs
    template <class Algorithm, class Proposal, class BytesOf>
    [[nodiscard]] algorithm_choice<Algorithm> first_of(std::span<Proposal const> proposals,
                                                       std::span<Algorithm const> candidates,
                                                       BytesOf const& bytes_of) const {
      auto const is_usable = [&](Algorithm a, algorithm_choice<Algorithm>& choice) {
        choice.algorithm = a;
        return bytes_of(a, &choice.bytes) == CUDNN_STATUS_SUCCESS && choice.bytes <= most_bytes;
      };
      algorithm_choice<Algorithm> choice;
      for (Proposal const& proposal : proposals) {
        bool const is_allowed = std::find(candidates.begin(), candidates.end(), proposal.algo) != candidates.end();
        if (is_allowed && proposal.status == CUDNN_STATUS_SUCCESS && proposal.determinism == CUDNN_DETERMINISTIC &&
            is_usable(proposal.algo, choice)) {
          return choice;
        }
      }
      for (Algorithm const a : candidates) {  // cuDNN may support more than it lists
        if (is_usable(a, choice)) {
          return choice;
        }
      }
      throw std::runtime_error(
          "cuDNN has no deterministic product for a convolution of " + std::to_string(layer_.input.channels) + " x " +
          std::to_string(layer_.input.rows) + " x " + std::to_string(layer_.input.columns) + " to " +
          std::to_string(layer_.output.channels) + " channels in " + std::to_string(layer_.groups) +
          " groups; use other numbers of channels or groups, or train on the CPU");
    }

    void choose(cudnnHandle_t handle) {
      constexpr int limit = 16;
      int count = 0;
      {
        constexpr cudnnConvolutionFwdAlgo_t candidates[] = {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM,
                                                            CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM};
        cudnnConvolutionFwdAlgoPerf_t proposals[limit];
        check_status(cudnnGetConvolutionForwardAlgorithm_v7(handle, x_.get(), w_.get(), convolution_.get(), y_.get(),
                                                            limit, &count, proposals),
                     "asking cuDNN for a convolution");
        forward_ = first_of<cudnnConvolutionFwdAlgo_t, cudnnConvolutionFwdAlgoPerf_t>(
            {proposals, static_cast<std::size_t>(count)}, candidates, [&](auto a, std::size_t* bytes) {
              return cudnnGetConvolutionForwardWorkspaceSize(handle, x_.get(), w_.get(), convolution_.get(), y_.get(),
                                                             a, bytes);
            });
      }
      {
        constexpr cudnnConvolutionBwdFilterAlgo_t candidates[] = {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1};
        cudnnConvolutionBwdFilterAlgoPerf_t proposals[limit];
        check_status(cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle, x_.get(), y_.get(), convolution_.get(),
                                                                   w_.get(), limit, &count, proposals),
                     "asking cuDNN for the gradients of a convolution");
        weights_ = first_of<cudnnConvolutionBwdFilterAlgo_t, cudnnConvolutionBwdFilterAlgoPerf_t>(
            {proposals, static_cast<std::size_t>(count)}, candidates, [&](auto a, std::size_t* bytes) {
              return cudnnGetConvolutionBackwardFilterWorkspaceSize(handle, x_.get(), y_.get(), convolution_.get(),
                                                                    w_.get(), a, bytes);
            });
      }
      constexpr cudnnConvolutionBwdDataAlgo_t candidates[] = {CUDNN_CONVOLUTION_BWD_DATA_ALGO_1};
      cudnnConvolutionBwdDataAlgoPerf_t proposals[limit];
      check_status(cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, w_.get(), y_.get(), convolution_.get(), x_.get(),
                                                               limit, &count, proposals),
                   "asking cuDNN for the slopes of a convolution");
      input_ = first_of<cudnnConvolutionBwdDataAlgo_t, cudnnConvolutionBwdDataAlgoPerf_t>(
          {proposals, static_cast<std::size_t>(count)}, candidates, [&](auto a, std::size_t* bytes) {
            return cudnnGetConvolutionBackwardDataWorkspaceSize(handle, w_.get(), y_.get(), convolution_.get(),
                                                                x_.get(), a, bytes);
          });
    }

    static constexpr std::size_t most_bytes = std::size_t{1} << 30;

    geometry::convolution layer_;
    std::size_t rows_;
    cudnn_tensor x_;
    cudnn_tensor y_;
    cudnn_filter w_;
    cudnn_convolution convolution_;
    algorithm_choice<cudnnConvolutionFwdAlgo_t> forward_;
    algorithm_choice<cudnnConvolutionBwdFilterAlgo_t> weights_;
    algorithm_choice<cudnnConvolutionBwdDataAlgo_t> input_;
  };

  /// The plan for a layer and a number of rows.
  [[nodiscard]] plan const& plan_for(geometry::convolution const& l, std::size_t rows) {
    for (plan const& p : plans_) {
      if (p.serves(l, rows)) {
        return p;
      }
    }
    return plans_.emplace_back(handle_.get(), numbers_, l, rows);
  }

  // `workspace` has at least the plan's number of bytes.
  void forward(plan const& p, void const* w, void const* x, void* y, void* workspace) const {
    check_status(cudnnConvolutionForward(handle_.get(), &alpha, p.x_.get(), x, p.w_.get(), w, p.convolution_.get(),
                                         p.forward_.algorithm, workspace, p.forward_.bytes, &beta, p.y_.get(), y),
                 "a convolution by cuDNN");
  }
  void differentiate_weights(plan const& p, void const* x, void const* dy, void* dw, void* workspace) const {
    check_status(
        cudnnConvolutionBackwardFilter(handle_.get(), &alpha, p.x_.get(), x, p.y_.get(), dy, p.convolution_.get(),
                                       p.weights_.algorithm, workspace, p.weights_.bytes, &beta, p.w_.get(), dw),
        "the gradients of a convolution by cuDNN");
  }
  void differentiate_input(plan const& p, void const* w, void const* dy, void* dx, void* workspace) const {
    check_status(
        cudnnConvolutionBackwardData(handle_.get(), &alpha, p.w_.get(), w, p.y_.get(), dy, p.convolution_.get(),
                                     p.input_.algorithm, workspace, p.input_.bytes, &beta, p.x_.get(), dx),
        "the slopes of a convolution by cuDNN");
  }

 private:
  static constexpr float alpha = 1;
  static constexpr float beta = 0;

  precision numbers_;
  handle<cudnnHandle_t, cudnnCreate, cudnnDestroy> handle_;
  std::vector<plan> plans_;
};

}  // namespace tutti::nn::detail::runtime
