// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/base/batch_context.hpp>
#include <tutti/nn/base/parameter_range.hpp>
#include <tutti/nn/base/tensor.hpp>
#include <tutti/nn/detail/layer/sequence.hpp>
#include <tutti/nn/extend/layer_list.hpp>
#include <tutti/nn/gradient_sizes.hpp>
#include <tutti/nn/layer_multiply_adds.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// A sequence of layers with its memory. All parameters are in one contiguous vector and all gradients in another, so
/// that one operation on one range shares or sums them. A third vector holds the layers' statistics: values that are
/// kept but not learned.
///
/// A few extra scalars, such as the loss, may follow the gradients and travel with them, which saves the latency of a
/// second operation in each step.
template <class T>
class model {
 public:
  /// The type of the numbers.
  using value_type = T;

  /// @pre each layer's inputs are the outputs of the one before
  explicit model(layer_list<T> layers, std::size_t extra_scalars = 0)
      : layers_(std::move(layers)),
        parameters_(layers_.parameters()),
        gradient_buffer_(parameters_.size() + extra_scalars),
        statistics_(layers_.statistics()) {
    layers_.bind(parameters(), gradients(), statistics());
  }

  // Layers view the vectors: a move keeps those, a copy would not.
  /// Takes over the model. Its parameters do not move.
  model(model&&) noexcept = default;
  /// Takes over the other model, and releases the current one.
  model& operator=(model&&) noexcept = default;

  /// The number of values in a row of the input.
  [[nodiscard]] std::size_t inputs() const { return layers_.inputs(); }
  /// The number of values in a row of the output.
  [[nodiscard]] std::size_t outputs() const { return layers_.outputs(); }
  /// The number of layers.
  [[nodiscard]] std::size_t layers() const noexcept { return layers_.layers().size(); }

  /// The parameters that are learned.
  [[nodiscard]] std::span<T> parameters() noexcept { return parameters_; }
  /// The parameters that are learned.
  [[nodiscard]] std::span<T const> parameters() const noexcept { return parameters_; }
  /// The derivative of the loss with respect to each parameter, in the order of the parameters.
  [[nodiscard]] std::span<T> gradients() noexcept { return std::span<T>(gradient_buffer_).first(parameters_.size()); }
  /// The extra scalars behind the gradients.
  [[nodiscard]] std::span<T> extra_scalars() noexcept {
    return std::span<T>(gradient_buffer_).subspan(parameters_.size());
  }
  /// The gradient buffer: the gradients and the extra scalars, in one range.
  [[nodiscard]] std::span<T> gradient_buffer() noexcept { return gradient_buffer_; }
  /// The layers' statistics of this rank's batches, such as running means. They are part of a saved model.
  [[nodiscard]] std::span<T> statistics() noexcept { return statistics_; }

  /// The range of each layer's parameters, in order, layers inside blocks included; layers without parameters are
  /// left out.
  [[nodiscard]] std::vector<parameter_range> ranges() const { return detail::gradient_ranges<T>(layers_.layers()); }

  /// The multiplications of each of these layers for an image.
  [[nodiscard]] std::vector<double> multiply_adds() const { return layer_multiply_adds<T>(layers_.layers()); }

  /// Draws random weights. Equal seeds give equal weights on every platform.
  void initialise(std::uint64_t seed) { layers_.draw(seed); }

  /// Allocates memory for batches of `rows` rows. Larger batches allocate when they arrive.
  void reserve(std::size_t rows) {
    if (rows > values_.shape(0)) {
      layers_.reserve(rows);
      values_.resize({rows, outputs()});
      output_gradients_.resize({rows, outputs()});
    }
  }

  /// Computes the outputs for a batch. They are valid until the next call.
  /// @pre x has at least one row and inputs() columns
  matrix_view<T> forward(matrix_view<T const> const& x, batch_context<T> const& context = {}) {
    expects(x.shape(0) > 0 && x.shape(1) == inputs(), "model: forward takes at least one row of ", inputs(),
            " numbers, not ", x.shape(0), " rows of ", x.shape(1));
    reserve(x.shape(0));
    rows_ = x.shape(0);
    context_ = context;
    layers_.forward(context_, x, first_rows(values_, rows_));
    return first_rows(values_, rows_);
  }

  /// The memory for the derivative of the loss with respect to the outputs of the last `forward`.
  [[nodiscard]] matrix_view<T> derivatives() { return first_rows(output_gradients_, rows_); }

  /// Computes the gradients of the loss from derivatives(), which are overwritten.
  /// @param on_completion is called with the growing part of gradients() that is final, from the end to the beginning
  /// @pre x is the batch of the last call of forward, in training
  void backward(matrix_view<T const> const& x, completion<T> const& on_completion = {}) {
    expects(x.shape(0) == rows_ && context_.training, "model: backward takes the batch of the last forward, of ", rows_,
            " rows in training, not one of ", x.shape(0),
            context_.training ? "" : "; that forward was not in training");
    context_.on_completion = on_completion;
    layers_.backward(context_, x, first_rows(values_, rows_), first_rows(output_gradients_, rows_),
                     view<T>(nullptr, rows_, 0));
  }

 private:
  detail::sequence<T> layers_;
  std::vector<T> parameters_;
  std::vector<T> gradient_buffer_;
  std::vector<T> statistics_;
  matrix<T> values_ = matrix<T>::from_shape({0, 0});            // outputs of the last layer
  matrix<T> output_gradients_ = matrix<T>::from_shape({0, 0});  // derivative of the loss with respect to values_
  batch_context<T> context_;                                    // context of the last batch
  std::size_t rows_ = 0;                                        // rows of the last batch
};

}  // namespace tutti::nn
