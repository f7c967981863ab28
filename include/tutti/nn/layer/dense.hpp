// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/detail/layer/bias.hpp>
#include <tutti/nn/detail/product/product.hpp>
#include <tutti/nn/extend/layer.hpp>
#include <tutti/nn/layer/activation.hpp>
#include <tutti/nn/layer/geometry.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace tutti::inline v0_1_0::nn {

/// y = activation(x W + b), with W of inputs x outputs.
///
/// Cost: one matrix product forward, two backward (one where dx is not wanted), and one pass over y
/// each way: bias and activation are one loop, and so are the activation's slope and the gradient of
/// the bias. No allocation.
template <class T, activation<T> Activation = identity>
class dense {
 public:
  /// The type of number that is computed in.
  using value_type = T;

  /// So many numbers in a row, and out of it.
  /// @throws precondition_error unless both are at least 1
  dense(std::size_t inputs, std::size_t outputs) : inputs_(inputs), outputs_(outputs) {
    expects(inputs > 0 && outputs > 0, "dense: a layer must have at least one input and one output, not ", inputs,
            " and ", outputs);
  }

  /// The number of values in a row of the input.
  [[nodiscard]] std::size_t inputs() const noexcept { return inputs_; }
  /// The number of values in a row of the output.
  [[nodiscard]] std::size_t outputs() const noexcept { return outputs_; }
  /// The number of parameters that are learned.
  [[nodiscard]] std::size_t parameters() const noexcept { return (inputs_ + 1) * outputs_; }
  /// The number of values that are remembered but not learned.
  [[nodiscard]] static constexpr std::size_t statistics() noexcept { return 0; }
  /// The places of the weights among the parameters.
  [[nodiscard]] weight_blocks weights() const noexcept { return {1, inputs_, outputs_}; }
  /// The computation as data, without its arithmetic.
  [[nodiscard]] geometry::dense geometry() const noexcept { return {inputs_, outputs_, Activation::kind}; }

  /// The vectors hold W, then b.
  void bind(std::span<T> parameters, std::span<T> gradients, std::span<T>) {
    expects(parameters.size() == this->parameters() && gradients.size() == this->parameters(), "dense: bind takes ",
            this->parameters(), " parameters and as many gradients, not ", parameters.size(), " and ",
            gradients.size());
    parameters_ = parameters;
    gradients_ = gradients;
  }

  /// Uniform weights with standard deviation gain / sqrt(inputs), zero biases.
  void initialise(random_sequence& random) {
    T const limit = std::sqrt(T{3} / static_cast<T>(inputs_)) * static_cast<T>(Activation::gain);
    std::ranges::generate(parameters_.first(inputs_ * outputs_),
                          [&] { return (T{2} * random.fraction<T>() - T{1}) * limit; });
    std::ranges::fill(parameters_.last(outputs_), T{0});
  }

  /// Makes room for batches of this many rows; later calls do not allocate.
  static constexpr void reserve(std::size_t) noexcept {}

  /// Computes y from x, a row for each row.
  void forward(pass<T> const&, matrix_view<T const> const& x, matrix_view<T> y) const {
    detail::product<T>(x, detail::operand::as_is, matrix_of_weights(), detail::operand::as_is, y);
    detail::add_bias<Activation>(y.data(), y.shape(0), outputs_, parameters_.data() + inputs_ * outputs_);
  }

  /// Computes the gradients from dy, the derivative by y, and dx, that by x, unless dx has no columns.
  void backward(pass<T> const& how, matrix_view<T const> const& x, matrix_view<T> const& y, matrix_view<T> dy,
                matrix_view<T> dx) const {
    detail::differentiate_bias<Activation>(y.data(), dy.data(), dy.shape(0), outputs_,
                                           gradients_.data() + inputs_ * outputs_);
    auto slopes = view<T>(gradients_.data(), inputs_, outputs_);
    detail::product<T>(x, detail::operand::transposed, read_only<T>(dy), detail::operand::as_is, slopes);
    how.completed(gradients_.data());
    if (dx.shape(1) != 0) {
      detail::product<T>(read_only<T>(dy), detail::operand::as_is, matrix_of_weights(), detail::operand::transposed,
                         dx);
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

static_assert(layer<dense<float>>);

}  // namespace tutti::nn
