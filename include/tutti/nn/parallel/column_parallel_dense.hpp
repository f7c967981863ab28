// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/detail/parallel/initial_weights.hpp>
#include <tutti/nn/layer/dense.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace tutti::inline v0_1_0::nn {

/// A dense layer with its outputs divided over the ranks: each rank holds its columns of W and of b.
///
///     forward    x of own samples --allgather--> x of all samples;  y = activation(x W + b), own columns
///     backward   W' = x^T dy;  dy W^T, a part of dx for all samples --reduce_scatter--> dx of own samples
///
/// Shoeybi et al., "Megatron-LM: Training multi-billion parameter language models using model parallelism", 2019,
/// with the samples divided over ranks outside of it: Korthikanti et al., "Reducing activation recomputation in large
/// transformer models", 2022. (The latter splits the former's allreduce into two halves, for equal bytes.)
///
/// Cost: one collective forward and one backward, none if dx is not needed; memory for the inputs of all samples,
/// twice if dx is needed.
template <class T, activation<T> Activation, class Exchange>
class column_parallel_dense {
 public:
  /// @pre at least one output for each rank; the exchange outlives this
  column_parallel_dense(Exchange& exchange, std::size_t inputs, std::size_t outputs)
      : exchange_(&exchange),
        outputs_(outputs),
        local_outputs_(outputs_of_rank(outputs, exchange.rank(), exchange.size())),
        layer_(inputs, local_outputs_.count) {}

  /// The number of values in a row of the input.
  [[nodiscard]] std::size_t inputs() const noexcept { return layer_.inputs(); }
  /// The outputs that this rank computes.
  [[nodiscard]] range local_outputs() const noexcept { return local_outputs_; }
  /// The number of parameters.
  [[nodiscard]] std::size_t parameters() const noexcept { return layer_.parameters(); }

  /// Binds the vectors: this rank's columns of W, then of b.
  void bind(std::span<T> parameters, std::span<T> gradients) {
    layer_.bind(parameters, gradients, {});
    parameters_ = parameters;
  }

  /// Draws this rank's part of the whole layer's initial parameters.
  void initialise(random_sequence& random) {
    auto const weights = parameters_.first(inputs() * local_outputs_.count);
    detail::draw_weights<Activation>(random, inputs(), outputs_, {0, inputs()}, local_outputs_, weights);
    std::ranges::fill(parameters_.last(local_outputs_.count), T{0});
  }

  /// @param samples number of samples of all ranks
  void reserve(std::size_t samples, bool needs_input_gradient) {
    x_.resize({samples, inputs()});
    dx_.resize({needs_input_gradient ? samples : 0, inputs()});
  }

  /// @param x inputs of this rank's samples
  /// @param y outputs of all samples, with own().count columns
  void forward(batch_context<T> const& context, matrix_view<T const> const& x, matrix_view<T> y) {
    exchange_->gather(x, first_rows(x_, y.shape(0)));
    layer_.forward(context, read_only<T>(first_rows(x_, y.shape(0))), y);
  }

  /// @param dx derivatives of this rank's samples; not computed if it has no columns
  void backward(batch_context<T> const& context, matrix_view<T> const& y, matrix_view<T> dy, matrix_view<T> dx) {
    std::size_t const samples = y.shape(0);
    bool const needs_input_gradient = dx.shape(1) != 0;
    auto whole = needs_input_gradient ? first_rows(dx_, samples) : view<T>(nullptr, samples, 0);
    layer_.backward(context, read_only<T>(first_rows(x_, samples)), y, dy, whole);
    if (needs_input_gradient) {
      exchange_->add_up(whole, dx);
    }
  }

 private:
  static range outputs_of_rank(std::size_t outputs, rank_type rank, rank_type size) {
    expects(outputs >= size, "column_parallel_dense: ", outputs, " outputs are too few for ", size,
            " ranks; use fewer ranks");
    return {block_begin(outputs, size, rank), block_size(outputs, size, rank)};
  }

  Exchange* exchange_;
  std::size_t outputs_;  // outputs of all ranks
  range local_outputs_;
  dense<T, Activation> layer_;
  std::span<T> parameters_;
  matrix<T> x_ = matrix<T>::from_shape({0, 0});   // inputs of all samples
  matrix<T> dx_ = matrix<T>::from_shape({0, 0});  // this rank's part of the sum
};

}  // namespace tutti::nn
