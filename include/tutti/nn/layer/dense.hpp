// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/expects.hpp>
#include <tutti/nn/layer/concept.hpp>
#include <tutti/nn/layer/identity.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace tutti::nn {

/// y = activation(x W + b), with W of inputs x outputs.
///
/// Cost: one matrix product forward, two backward (one where dx is not wanted), and one pass over y
/// each way: bias and activation are one loop, and so are the activation's slope and the gradient of
/// the bias. No allocation.
template <class T, activation<T> Activation = identity>
class dense {
 public:
  using value_type = T;

  dense(std::size_t inputs, std::size_t outputs) : inputs_(inputs), outputs_(outputs) {
    expects(inputs > 0 && outputs > 0, "dense: a layer needs at least one input and one output");
  }

  [[nodiscard]] std::size_t inputs() const noexcept { return inputs_; }
  [[nodiscard]] std::size_t outputs() const noexcept { return outputs_; }
  [[nodiscard]] std::size_t parameters() const noexcept { return (inputs_ + 1) * outputs_; }

  /// The vectors hold W, then b.
  void bind(std::span<T> parameters, std::span<T> gradients) {
    expects(parameters.size() == this->parameters() && gradients.size() == this->parameters(),
            "dense: bind takes exactly parameters() numbers");
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

  void forward(matrix_view<T const> const& x, matrix_view<T> y) const {
    product<T>(x, operand::as_is, weights(), operand::as_is, y);
    T const* const bias = parameters_.data() + inputs_ * outputs_;
    T* row = y.data();
    for (std::size_t r = 0; r != y.shape(0); ++r, row += outputs_) {
      for (std::size_t c = 0; c != outputs_; ++c) {
        row[c] = Activation::value(row[c] + bias[c]);
      }
    }
  }

  void backward(matrix_view<T const> const& x, matrix_view<T> const& y, matrix_view<T> dy, matrix_view<T> dx) const {
    T* const bias = gradients_.data() + inputs_ * outputs_;
    std::fill_n(bias, outputs_, T{0});
    T const* value = y.data();
    T* row = dy.data();
    for (std::size_t r = 0; r != dy.shape(0); ++r, value += outputs_, row += outputs_) {
      for (std::size_t c = 0; c != outputs_; ++c) {
        row[c] *= Activation::slope(value[c]);
        bias[c] += row[c];
      }
    }
    auto slopes = view<T>(gradients_.data(), inputs_, outputs_);
    product<T>(x, operand::transposed, read_only<T>(dy), operand::as_is, slopes);
    if (dx.shape(1) != 0) {
      product<T>(read_only<T>(dy), operand::as_is, weights(), operand::transposed, dx);
    }
  }

 private:
  [[nodiscard]] matrix_view<T const> weights() const { return view<T const>(parameters_.data(), inputs_, outputs_); }

  std::size_t inputs_;
  std::size_t outputs_;
  std::span<T> parameters_;
  std::span<T> gradients_;
};

static_assert(layer<dense<float>>);

}  // namespace tutti::nn
