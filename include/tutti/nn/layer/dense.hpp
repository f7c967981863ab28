// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/nn/detail/layer/bias.hpp>
#include <tutti/nn/detail/products/product.hpp>
#include <tutti/nn/extend/layer.hpp>
#include <tutti/nn/layer/activation.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>

namespace tutti::inline v0_1_0::nn {

/// y = activation(x W + b), with W of inputs x outputs.
///
/// Cost: one matrix product forward, two backward (one if dx is not needed), and one pass over y each way: bias and
/// activation share one loop, as do the activation's derivative and the gradient of the bias. No allocation.
template <class T, activation<T> Activation = identity>
class dense final : public layer<T> {
 public:
  /// Constructs a layer with this many inputs and outputs.
  /// @throws precondition_error unless both are at least 1
  dense(std::size_t inputs, std::size_t outputs) : inputs_(inputs), outputs_(outputs) {
    expects(inputs > 0 && outputs > 0, "dense: a layer must have at least one input and one output, not ", inputs,
            " and ", outputs);
  }

  [[nodiscard]] std::unique_ptr<layer<T>> clone() const override { return std::make_unique<dense>(*this); }
  [[nodiscard]] std::size_t inputs() const noexcept override { return inputs_; }
  [[nodiscard]] std::size_t outputs() const noexcept override { return outputs_; }
  [[nodiscard]] std::size_t parameters() const noexcept override { return (inputs_ + 1) * outputs_; }
  [[nodiscard]] weight_blocks weights() const noexcept override { return {1, inputs_, outputs_}; }
  [[nodiscard]] geometry::variant geometry() const override {
    return {geometry::dense{inputs_, outputs_, Activation::kind}};
  }

  /// Binds the vectors: W, then b.
  void bind(std::span<T> parameters, std::span<T> gradients, std::span<T>) override {
    expects(parameters.size() == this->parameters() && gradients.size() == this->parameters(), "dense: bind takes ",
            this->parameters(), " parameters and as many gradients, not ", parameters.size(), " and ",
            gradients.size());
    parameters_ = parameters;
    gradients_ = gradients;
  }

  /// Draws uniform weights with standard deviation gain / sqrt(inputs), and zero biases.
  void initialise(random_sequence& random) override {
    T const limit = std::sqrt(T{3} / static_cast<T>(inputs_)) * static_cast<T>(Activation::gain);
    std::ranges::generate(parameters_.first(inputs_ * outputs_),
                          [&] { return (T{2} * random.fraction<T>() - T{1}) * limit; });
    std::ranges::fill(parameters_.last(outputs_), T{0});
  }

  void forward(batch_context<T> const&, matrix_view<T const> const& x, matrix_view<T> y) override {
    detail::product<T>(x, detail::operand::as_is, matrix_of_weights(), detail::operand::as_is, y);
    detail::add_bias<Activation>(y.data(), y.shape(0), outputs_, parameters_.data() + inputs_ * outputs_);
  }

  /// Computes the gradients from dy, the derivative with respect to y, and dx, the one with respect to x, unless dx
  /// has no columns.
  void backward(batch_context<T> const& context, matrix_view<T const> const& x, matrix_view<T> const& y,
                matrix_view<T> dy, matrix_view<T> dx) override {
    detail::differentiate_bias<Activation>(y.data(), dy.data(), dy.shape(0), outputs_,
                                           gradients_.data() + inputs_ * outputs_);
    auto slopes = view<T>(gradients_.data(), inputs_, outputs_);
    detail::product<T>(x, detail::operand::transpose, read_only<T>(dy), detail::operand::as_is, slopes);
    context.on_completion(gradients_.data());
    if (dx.shape(1) != 0) {
      detail::product<T>(read_only<T>(dy), detail::operand::as_is, matrix_of_weights(), detail::operand::transpose, dx);
    }
  }

 private:
  [[nodiscard]] matrix_view<T const> matrix_of_weights() const {
    return view<T const>(parameters_.data(), inputs_, outputs_);
  }

  std::size_t inputs_;
  std::size_t outputs_;
  std::span<T> parameters_;
  std::span<T> gradients_;
};

#ifdef TUTTI_SEPARATE_COMPILATION
extern template class dense<float, identity>;
extern template class dense<float, relu>;
extern template class dense<float, tanh>;
extern template class dense<float, sigmoid>;
extern template class dense<double, identity>;
extern template class dense<double, relu>;
extern template class dense<double, tanh>;
extern template class dense<double, sigmoid>;
#endif

}  // namespace tutti::nn
