// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/tensor.hpp>
#include <tutti/nn/detail/layer/sequence.hpp>
#include <tutti/nn/extend/layer_list.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline parallel {

/// The layers of one stage of a pipeline, with one set of weights, and memory for the values of several micro-batches
/// between forward and backward. Knows no ranks.
template <class T>
class pipeline_stage {
 public:
  /// @param first index of the first layer in the whole model
  /// @param capacity number of micro-batches whose values are kept at a time
  /// @param rows samples of each micro-batch
  pipeline_stage(layer_list<T> const& layers, std::size_t first, std::size_t capacity, std::size_t rows)
      : first_(first), rows_(rows) {
    for (std::size_t k = 0; k != capacity; ++k) {
      slots_.push_back({sequence<T>(layers)});
    }
    auto& stage_layers = slots_.front().layers;
    parameters_.resize(stage_layers.parameters());
    gradients_.resize(stage_layers.parameters());
    sum_.resize(stage_layers.parameters());
    statistics_.resize(stage_layers.statistics());
    for (auto& slot : slots_) {
      slot.layers.bind(parameters_, gradients_, statistics_);
      slot.layers.reserve(rows);
      slot.y.resize({rows, outputs()});
    }
    dy_.resize({rows, outputs()});
  }

  [[nodiscard]] std::size_t inputs() const { return slots_.front().layers.inputs(); }
  [[nodiscard]] std::size_t outputs() const { return slots_.front().layers.outputs(); }
  [[nodiscard]] std::size_t capacity() const noexcept { return slots_.size(); }
  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }

  [[nodiscard]] std::span<T> parameters() noexcept { return parameters_; }
  /// The gradients, summed over the micro-batches.
  [[nodiscard]] std::span<T> gradients() noexcept { return sum_; }

  /// Draws the initial parameters of these layers in the whole model, for every place, because layers such as dropout
  /// draw state of their own.
  void initialise(std::uint64_t seed) {
    for (auto& slot : slots_) {
      auto& layers = slot.layers.layers();
      for (std::size_t i = 0; i != layers.size(); ++i) {
        random_sequence random(seed, first_ + i);
        layers[i].initialise(random);
      }
    }
  }

  /// The outputs of a micro-batch; valid until the forward of micro-batch + kept().
  [[nodiscard]] matrix_view<T> values(std::size_t micro_batch) { return first_rows(slot_of(micro_batch).y, rows_); }

  /// The memory for the derivative of the loss with respect to the outputs of one micro-batch.
  [[nodiscard]] matrix_view<T> derivatives() { return first_rows(dy_, rows_); }

  void forward(batch_context<T> context, std::size_t micro_batch, matrix_view<T const> const& x) {
    context.first_row = micro_batch * rows_;
    slot_of(micro_batch).layers.forward(context, x, values(micro_batch));
  }

  /// Adds the gradients of the micro-batch to the sum; the first micro-batch resets it.
  /// @param dy overwritten
  /// @param dx not computed if it has no columns
  void backward(batch_context<T> context, std::size_t micro_batch, matrix_view<T const> const& x, matrix_view<T> dy,
                matrix_view<T> dx) {
    context.first_row = micro_batch * rows_;
    slot_of(micro_batch).layers.backward(context, x, values(micro_batch), dy, dx);
    if (micro_batch == 0) {
      std::ranges::copy(gradients_, sum_.begin());
    } else {
      std::ranges::transform(sum_, gradients_, sum_.begin(), [](T sum, T more) { return sum + more; });
    }
  }

 private:
  struct stage_slot {
    sequence<T> layers;
    matrix<T> y = matrix<T>::from_shape({0, 0});
  };

  [[nodiscard]] stage_slot& slot_of(std::size_t micro_batch) { return slots_[micro_batch % slots_.size()]; }

  std::size_t first_;
  std::size_t rows_;
  std::vector<stage_slot> slots_;
  std::vector<T> parameters_;
  std::vector<T> gradients_;  // gradients of one micro-batch
  std::vector<T> sum_;
  std::vector<T> statistics_;
  matrix<T> dy_ = matrix<T>::from_shape({0, 0});
};

}  // namespace tutti::nn::detail::parallel
