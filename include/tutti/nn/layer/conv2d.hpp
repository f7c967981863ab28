// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/nn/base/window.hpp>
#include <tutti/nn/detail/convolution/blas.hpp>
#include <tutti/nn/detail/convolution/onednn.hpp>
#include <tutti/nn/detail/layer/bias.hpp>
#include <tutti/nn/detail/numbers/loops.hpp>
#include <tutti/nn/extend/layer.hpp>
#include <tutti/nn/layer/activation.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

namespace tutti::inline v0_1_0::nn {

namespace detail {

/// The kernel of convolutions of type T: oneDNN, the fastest, does not support double.
template <class T>
using convolution_kernel = std::conditional_t<std::is_same_v<T, float>, onednn_convolution, blas_convolution<T>>;

}  // namespace detail

/// y = activation(x * W + b): at each position of a window, each output channel is the weighted sum of the values
/// under the window, plus the channel's bias.
///
/// Cost: 2 x weights x output pixels operations per image forward, twice that backward (once if dx is not needed).
template <class T, activation<T> Activation = identity>
class conv2d final : public layer<T> {
 public:
  /// @pre the window fits into the padded image; the groups divide the channels of both sides
  conv2d(image_shape const& image, convolution const& options)
      : geometry_(image, options), bias_(options.bias ? options.channels : 0), kernel_(geometry_) {}

  [[nodiscard]] std::unique_ptr<layer<T>> clone() const override { return std::make_unique<conv2d>(*this); }
  [[nodiscard]] std::size_t inputs() const noexcept override { return geometry_.input.size(); }
  [[nodiscard]] std::size_t outputs() const noexcept override { return geometry_.output.size(); }
  /// The shape of an output image.
  [[nodiscard]] image_shape output_shape() const noexcept { return geometry_.output; }
  [[nodiscard]] std::size_t parameters() const noexcept override { return geometry_.weights() + bias_; }
  [[nodiscard]] std::size_t pixels() const noexcept override { return geometry_.pixels(); }
  [[nodiscard]] weight_blocks weights() const noexcept override {
    return {geometry_.groups, geometry_.fan_in(), geometry_.group_outputs()};
  }
  [[nodiscard]] geometry::variant geometry() const override {
    return {geometry::convolution{geometry_.input, geometry_.output, geometry_.filter_window, geometry_.groups,
                                  bias_ != 0, Activation::kind}};
  }

  /// Binds the vectors: the weights, a matrix for each group, then the biases.
  void bind(std::span<T> parameters, std::span<T> gradients, std::span<T>) override {
    expects(parameters.size() == this->parameters() && gradients.size() == this->parameters(), "conv2d: bind takes ",
            this->parameters(), " parameters and as many gradients, not ", parameters.size(), " and ",
            gradients.size());
    parameters_ = parameters;
    gradients_ = gradients;
  }

  /// Draws uniform weights with standard deviation gain / sqrt(values under the window), and zero biases.
  void initialise(random_sequence& random) override {
    T const limit = std::sqrt(T{3} / static_cast<T>(geometry_.fan_in())) * static_cast<T>(Activation::gain);
    std::ranges::generate(parameters_.first(geometry_.weights()),
                          [&] { return (T{2} * random.fraction<T>() - T{1}) * limit; });
    std::ranges::fill(parameters_.last(bias_), T{0});
  }

  void reserve(std::size_t rows) override { kernel_.reserve(rows); }

  void forward(batch_context<T> const&, matrix_view<T const> const& x, matrix_view<T> y) override {
    kernel_.forward(x.shape(0), x.data(), parameters_.data(), y.data());
    if (bias_ != 0) {
      detail::add_bias<Activation>(y.data(), x.shape(0) * geometry_.pixels(), bias_,
                                   parameters_.data() + geometry_.weights());
    } else if constexpr (!std::is_same_v<Activation, identity>) {
      detail::elementwise(y.size(), [values = y.data()](std::size_t i) { values[i] = Activation::value(values[i]); });
    }
  }

  /// Computes the gradients from dy, the derivative with respect to y, and dx, the one with respect to x, unless dx
  /// has no columns.
  void backward(batch_context<T> const& context, matrix_view<T const> const& x, matrix_view<T> const& y,
                matrix_view<T> dy, matrix_view<T> dx) override {
    if (bias_ != 0) {
      detail::differentiate_bias<Activation>(y.data(), dy.data(), x.shape(0) * geometry_.pixels(), bias_,
                                             gradients_.data() + geometry_.weights());
    } else if constexpr (!std::is_same_v<Activation, identity>) {
      detail::elementwise(y.size(), [values = y.data(), slopes = dy.data()](std::size_t i) {
        slopes[i] *= Activation::derivative(values[i]);
      });
    }
    kernel_.differentiate_weights(x.shape(0), x.data(), dy.data(), gradients_.data());
    context.on_completion(gradients_.data());
    if (dx.shape(1) != 0) {
      kernel_.differentiate_input(x.shape(0), dy.data(), parameters_.data(), dx.data());
    }
  }

 private:
  detail::convolution_geometry geometry_;
  std::size_t bias_;  // number of biases
  detail::convolution_kernel<T> kernel_;
  std::span<T> parameters_;
  std::span<T> gradients_;
};

#ifdef TUTTI_SEPARATE_COMPILATION
extern template class conv2d<float, identity>;
extern template class conv2d<float, relu>;
extern template class conv2d<float, tanh>;
extern template class conv2d<float, sigmoid>;
extern template class conv2d<double, identity>;
extern template class conv2d<double, relu>;
extern template class conv2d<double, tanh>;
extern template class conv2d<double, sigmoid>;
#endif

}  // namespace tutti::nn
