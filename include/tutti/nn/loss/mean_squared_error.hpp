// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/base/tensor.hpp>
#include <tutti/nn/loss/batch_metrics.hpp>

#include <cstddef>

namespace tutti::inline v0_1_0::nn {

/// The mean over a row's columns of (prediction - target)^2, the loss of regressions.
struct mean_squared_error {
  /// The sum of the loss over the rows; `correct` stays 0.
  /// @pre one target per prediction
  template <class T>
  [[nodiscard]] static batch_metrics<T> measure(matrix_view<T> const& predictions,
                                                matrix_view<T const> const& targets) {
    expects(targets.shape() == predictions.shape(), "mean_squared_error: there are ", predictions.size(),
            " predictions and ", targets.size(), " targets, or their shapes differ; give both one shape");
    T sum = 0;
    for (std::size_t i = 0; i != predictions.size(); ++i) {
      T const difference = predictions.data()[i] - targets.data()[i];
      sum += difference * difference;
    }
    return {sum / static_cast<T>(predictions.shape(1)), T{0}};
  }

  /// Returns what `measure` returns, and writes `scale` times the derivative of the loss with respect to each
  /// prediction. A mean over a batch of B rows, on any number of ranks, has scale 1 / B.
  template <class T>
  static batch_metrics<T> differentiate(matrix_view<T> const& predictions, matrix_view<T const> const& targets, T scale,
                                        matrix_view<T> derivatives) {
    expects(derivatives.shape() == predictions.shape(), "mean_squared_error: there are ", predictions.size(),
            " predictions and room for ", derivatives.size(),
            " derivatives, or their shapes differ; give both one shape");
    T const factor = T{2} * scale / static_cast<T>(predictions.shape(1));
    auto const result = measure<T>(predictions, targets);
    for (std::size_t i = 0; i != predictions.size(); ++i) {
      derivatives.data()[i] = factor * (predictions.data()[i] - targets.data()[i]);
    }
    return result;
  }
};

}  // namespace tutti::nn
