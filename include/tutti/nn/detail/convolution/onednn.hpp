// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dnnl.hpp>
#include <tutti/nn/detail/convolution/geometry.hpp>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline convolution {

/// Convolution by oneDNN, for float: 1.2 to 2.7 times as fast as matrix products, more with few channels, because it
/// never stores the values under each window (docs/trainer/training-speed.md). Its kernels take images in our order,
/// the channels of a pixel beside each other; the weights, which are small, are reordered for the kernel in every
/// run.
///
/// A kernel is made for one batch size and kept, so a training makes none after its first epoch. oneDNN allocates a
/// table of arguments in every run.
class onednn_convolution {
 public:
  explicit onednn_convolution(convolution_geometry const& geometry) : geometry_(geometry) {}

  /// Does nothing: kernels are made on first use.
  static void reserve(std::size_t) noexcept {}

  void forward(std::size_t images, float const* x, float const* weights, float* y) {
    auto& cached_kernel = kernel_for(forward_, images, [&] {
      auto const description = describe_forward(images);
      return kernel(images, dnnl::convolution_forward(description), description.scratchpad_desc(),
                    {{DNNL_ARG_SRC, description.src_desc()}, {DNNL_ARG_DST, description.dst_desc()}},
                    {DNNL_ARG_WEIGHTS, description.weights_desc()});
    });
    cached_kernel.attach(DNNL_ARG_SRC, x);
    cached_kernel.attach(DNNL_ARG_DST, y);
    cached_kernel.take_weights(plain_weights(), weights);
    cached_kernel.run();
  }

  /// Overwrites the gradients of the weights.
  void differentiate_weights(std::size_t images, float const* x, float const* dy, float* gradients) {
    auto& cached_kernel = kernel_for(weights_, images, [&] {
      using primitive = dnnl::convolution_backward_weights;
      auto const description =
          describe<primitive>(describe_forward(images), algorithm, batch(images, geometry_.input), any_weights(),
                              batch(images, geometry_.output), stride(), padding(), padding());
      return kernel(images, primitive(description), description.scratchpad_desc(),
                    {{DNNL_ARG_SRC, description.src_desc()}, {DNNL_ARG_DIFF_DST, description.diff_dst_desc()}},
                    {DNNL_ARG_DIFF_WEIGHTS, description.diff_weights_desc()});
    });
    cached_kernel.attach(DNNL_ARG_SRC, x);
    cached_kernel.attach(DNNL_ARG_DIFF_DST, dy);
    cached_kernel.run();
    cached_kernel.give_weights(plain_weights(), gradients);
  }

  /// Overwrites the derivative with respect to the input.
  void differentiate_input(std::size_t images, float const* dy, float const* weights, float* dx) {
    auto& cached_kernel = kernel_for(input_, images, [&] {
      using primitive = dnnl::convolution_backward_data;
      auto const description =
          describe<primitive>(describe_forward(images), algorithm, batch(images, geometry_.input), any_weights(),
                              batch(images, geometry_.output), stride(), padding(), padding());
      return kernel(
          images, primitive(description), description.scratchpad_desc(),
          {{DNNL_ARG_DIFF_SRC, description.diff_src_desc()}, {DNNL_ARG_DIFF_DST, description.diff_dst_desc()}},
          {DNNL_ARG_WEIGHTS, description.weights_desc()});
    });
    cached_kernel.attach(DNNL_ARG_DIFF_DST, dy);
    cached_kernel.attach(DNNL_ARG_DIFF_SRC, dx);
    cached_kernel.take_weights(plain_weights(), weights);
    cached_kernel.run();
  }

 private:
  using memory = dnnl::memory;
  static constexpr auto algorithm = dnnl::algorithm::convolution_direct;
  static constexpr auto number = memory::data_type::f32;

  struct operand {
    int name;
    memory::desc desc;
  };

  static dnnl::engine& engine() {
    static dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
    return cpu;
  }

  /// A primitive of oneDNN with its operands.
  class kernel {
   public:
    kernel(std::size_t images, dnnl::primitive primitive, memory::desc const& scratch,
           std::initializer_list<operand> operands, operand const& weights)
        : images_(images), primitive_(std::move(primitive)), stream_(engine()), weights_(weights.desc, engine()) {
      for (auto const& [name, desc] : operands) {
        arguments_.emplace(name, memory(desc, engine(), nullptr));
      }
      arguments_.emplace(weights.name, weights_);
      arguments_.emplace(DNNL_ARG_SCRATCHPAD, memory(scratch, engine()));
    }

    [[nodiscard]] std::size_t images() const noexcept { return images_; }

    /// Sets the address of an operand. oneDNN has one type for read-only and written operands.
    void attach(int name, float const* data) { arguments_.at(name).set_data_handle(const_cast<float*>(data)); }

    void take_weights(memory::desc const& desc, float const* data) {
      memory plain_weights(desc, engine(), const_cast<float*>(data));
      if (!reorder_) {
        reorder_ = dnnl::reorder(plain_weights, weights_);
      }
      reorder_.execute(stream_, plain_weights, weights_);
    }

    void give_weights(memory::desc const& desc, float* data) {
      memory plain_weights(desc, engine(), data);
      if (!reorder_) {
        reorder_ = dnnl::reorder(weights_, plain_weights);
      }
      reorder_.execute(stream_, weights_, plain_weights);
      stream_.wait();
    }

    void run() {
      primitive_.execute(stream_, arguments_);
      stream_.wait();
    }

   private:
    std::size_t images_;
    dnnl::primitive primitive_;
    dnnl::stream stream_;
    memory weights_;  // in the order of the primitive
    std::unordered_map<int, memory> arguments_;
    dnnl::reorder reorder_;  // conversion of the weights to that order, or from it
  };

  template <class F>
  static kernel& kernel_for(std::vector<kernel>& kernels, std::size_t images, F const& make_kernel) {
    auto const position = std::ranges::find(kernels, images, &kernel::images);
    return position != kernels.end() ? *position : kernels.emplace_back(make_kernel());
  }

  static memory::dim dim(std::size_t n) { return static_cast<memory::dim>(n); }

  static memory::desc batch(std::size_t images, image_shape const& shape) {
    return {{dim(images), dim(shape.channels), dim(shape.rows), dim(shape.columns)}, number, memory::format_tag::nhwc};
  }

  [[nodiscard]] memory::dims weight_dims() const {
    memory::dims result{dim(geometry_.group_outputs()), dim(geometry_.group_inputs()),
                        dim(geometry_.filter_window.side), dim(geometry_.filter_window.side)};
    if (geometry_.groups != 1) {
      result.insert(result.begin(), dim(geometry_.groups));
    }
    return result;
  }

  [[nodiscard]] memory::desc any_weights() const { return {weight_dims(), number, memory::format_tag::any}; }

  /// The weights in the order of the parameters.
  [[nodiscard]] memory::desc plain_weights() const {
    memory::dim const channel = dim(geometry_.group_outputs());
    memory::dim const pixel = channel * dim(geometry_.group_inputs());
    memory::dims strides{1, channel, pixel * dim(geometry_.filter_window.side), pixel};
    if (geometry_.groups != 1) {
      strides.insert(strides.begin(), dim(geometry_.fan_in()) * channel);
    }
    return {weight_dims(), number, strides};
  }

  [[nodiscard]] memory::dims stride() const {
    return {dim(geometry_.filter_window.stride), dim(geometry_.filter_window.stride)};
  }
  [[nodiscard]] memory::dims padding() const {
    return {dim(geometry_.filter_window.padding), dim(geometry_.filter_window.padding)};
  }

  /// Sets user-provided scratch memory: the library's own would belong to the thread that made the kernel.
  static dnnl::primitive_attr attributes() {
    dnnl::primitive_attr result;
    result.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return result;
  }

  [[nodiscard]] dnnl::convolution_forward::primitive_desc describe_forward(std::size_t images) const {
    return describe<dnnl::convolution_forward>(dnnl::prop_kind::forward_training, algorithm,
                                               batch(images, geometry_.input), any_weights(),
                                               batch(images, geometry_.output), stride(), padding(), padding());
  }

  /// Describes a primitive. oneDNN 2 has a separate type for this, oneDNN 3 does not.
  template <class Primitive, class... Arguments>
  static typename Primitive::primitive_desc describe(dnnl::prop_kind kind, Arguments const&... arguments) {
    using description = typename Primitive::primitive_desc;
    if constexpr (requires { typename Primitive::desc; }) {
      return description(typename Primitive::desc(kind, arguments...), attributes(), engine());
    } else {
      return description(engine(), kind, arguments..., attributes());
    }
  }
  template <class Primitive, class... Arguments>
  static typename Primitive::primitive_desc describe(dnnl::convolution_forward::primitive_desc const& forward,
                                                     Arguments const&... arguments) {
    using description = typename Primitive::primitive_desc;
    if constexpr (requires { typename Primitive::desc; }) {
      return description(typename Primitive::desc(arguments...), attributes(), engine(), forward);
    } else {
      return description(engine(), arguments..., forward, attributes());
    }
  }

  convolution_geometry geometry_;
  std::vector<kernel> forward_;  // one for each batch size so far
  std::vector<kernel> weights_;
  std::vector<kernel> input_;
};

}  // namespace tutti::nn::detail::convolution
