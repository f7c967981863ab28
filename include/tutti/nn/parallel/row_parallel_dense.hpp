// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/detail/layer/bias.hpp>
#include <tutti/nn/detail/parallel/initial_weights.hpp>
#include <tutti/nn/detail/products/product.hpp>
#include <tutti/nn/extend/layer.hpp>
#include <tutti/nn/layer/activation.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace tutti::inline v0_1_0::nn {

/// A dense layer with its inputs divided over the ranks: each rank holds its rows of W, and all of b.
///
///     forward    x W, a part of each sum for all samples --reduce_scatter--> y = activation(sums + b), own samples
///     backward   dy of own samples --allgather--> dy of all samples;  W' = x^T dy;  dx = dy W^T, own inputs
///
/// Sources: those of column_parallel_dense. Every rank computes the gradient of b from the same numbers in the same
/// order, so b stays equal on all ranks.
///
/// Cost: one collective forward and one backward; memory for the outputs of all samples, used in both directions.
template <class T, activation<T> Activation, class Exchange>
class row_parallel_dense {
 public:
  /// @param inputs number of inputs of the whole layer
  /// @param local_inputs inputs of this rank
  /// @pre every input belongs to one rank; the exchange outlives this
  row_parallel_dense(Exchange& exchange, std::size_t inputs, range local_inputs, std::size_t outputs)
      : exchange_(&exchange), inputs_(inputs), local_inputs_(local_inputs), outputs_(outputs) {
    expects(local_inputs.count > 0 && local_inputs.first + local_inputs.count <= inputs && outputs > 0,
            "row_parallel_dense: each rank needs at least one of the ", inputs,
            " inputs, and at least one output; this rank has inputs ", local_inputs.first, " to ",
            local_inputs.first + local_inputs.count, " and ", outputs, " outputs");
  }

  /// The number of values in a row of the output.
  [[nodiscard]] std::size_t outputs() const noexcept { return outputs_; }
  /// The number of parameters of this rank.
  [[nodiscard]] std::size_t parameters() const noexcept { return (local_inputs_.count + 1) * outputs_; }

  /// Binds the vectors: this rank's rows of W, then b.
  void bind(std::span<T> parameters, std::span<T> gradients) {
    expects(parameters.size() == this->parameters() && gradients.size() == this->parameters(),
            "row_parallel_dense: bind takes ", this->parameters(), " parameters and as many gradients, not ",
            parameters.size(), " and ", gradients.size());
    parameters_ = parameters;
    gradients_ = gradients;
  }

  /// Draws this rank's part of the whole layer's initial parameters.
  void initialise(random_sequence& random) {
    auto const weights = parameters_.first(local_inputs_.count * outputs_);
    detail::draw_weights<Activation>(random, inputs_, outputs_, local_inputs_, {0, outputs_}, weights);
    std::ranges::fill(parameters_.last(outputs_), T{0});
  }

  /// @param samples number of samples of all ranks
  void reserve(std::size_t samples) { whole_.resize({samples, outputs_}); }

  /// @param x this rank's inputs of all samples
  /// @param y outputs of this rank's samples
  void forward(batch_context<T> const&, matrix_view<T const> const& x, matrix_view<T> y) {
    auto sums = first_rows(whole_, x.shape(0));
    detail::product<T>(x, detail::operand::as_is, weights(), detail::operand::as_is, sums);
    exchange_->add_up(sums, y);
    detail::add_bias<Activation>(y.data(), y.shape(0), outputs_, parameters_.data() + local_inputs_.count * outputs_);
  }

  /// @param x, dx this rank's inputs of all samples, and their derivatives
  /// @param y, dy outputs of this rank's samples, and their derivatives
  void backward(batch_context<T> const& context, matrix_view<T const> const& x, matrix_view<T> const& y,
                matrix_view<T> dy, matrix_view<T> dx) {
    T* const bias = gradients_.data() + local_inputs_.count * outputs_;
    detail::differentiate_bias<Activation>(y.data(), dy.data(), y.shape(0), outputs_, bias);
    auto whole = first_rows(whole_, x.shape(0));
    exchange_->gather(read_only<T>(dy), whole);
    detail::differentiate_bias<identity>(whole.data(), whole.data(), whole.shape(0), outputs_, bias);
    auto weight_gradients = view<T>(gradients_.data(), local_inputs_.count, outputs_);
    detail::product<T>(x, detail::operand::transpose, read_only<T>(whole), detail::operand::as_is, weight_gradients);
    context.on_completion(gradients_.data());
    if (dx.shape(1) != 0) {
      detail::product<T>(read_only<T>(whole), detail::operand::as_is, weights(), detail::operand::transpose, dx);
    }
  }

 private:
  [[nodiscard]] matrix_view<T const> weights() const {
    return view<T const>(parameters_.data(), local_inputs_.count, outputs_);
  }

  Exchange* exchange_;
  std::size_t inputs_;  // inputs of all ranks
  range local_inputs_;
  std::size_t outputs_;
  std::span<T> parameters_;
  std::span<T> gradients_;
  matrix<T> whole_ = matrix<T>::from_shape({0, 0});  // partial sums forward and derivatives backward, of all samples
};

}  // namespace tutti::nn
