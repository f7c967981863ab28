// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/base/tensor.hpp>
#include <tutti/nn/detail/numbers/exponential.hpp>
#include <tutti/nn/loss/batch_metrics.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::inline v0_1_0::nn {

/// -log softmax(row)[label], the loss of classifiers. Uses differences to a row's maximum, so that no sum overflows.
struct softmax_cross_entropy {
  /// The batch metrics of the predictions.
  /// @pre one label per row, each below the number of columns
  template <class T>
  [[nodiscard]] static batch_metrics<T> measure(matrix_view<T> const& predictions,
                                                std::span<std::uint8_t const> labels) {
    return run<false, T>(predictions, labels, T{0}, T{0}, nullptr);
  }

  /// Returns what `measure` returns, and writes `scale` times the derivative of the loss with respect to each
  /// prediction. A mean over a batch of B rows, on any number of ranks, has scale 1 / B.
  ///
  /// With label smoothing, this share of each row's target is spread evenly over all classes, and the loss is the cross
  /// entropy to that target. (Szegedy, Vanhoucke, Ioffe, Shlens, Wojna, "Rethinking the inception architecture for
  /// computer vision", CVPR 2016, section 7)
  template <class T>
  static batch_metrics<T> differentiate(matrix_view<T> const& predictions, std::span<std::uint8_t const> labels,
                                        T scale, matrix_view<T> derivatives, T smoothing = T{0}) {
    expects(derivatives.shape() == predictions.shape(), "softmax_cross_entropy: there are ", predictions.size(),
            " predictions and room for ", derivatives.size(),
            " derivatives, or their shapes differ; give both one shape");
    return run<true, T>(predictions, labels, scale, smoothing, derivatives.data());
  }

 private:
  template <bool Differentiates, class T>
  static batch_metrics<T> run(matrix_view<T> const& predictions, std::span<std::uint8_t const> labels, T scale,
                              T smoothing, T* derivative) {
    expects(labels.size() == predictions.shape(0), "softmax_cross_entropy: there are ", predictions.shape(0),
            " rows of predictions and ", labels.size(), " labels; give a label for each row");
    std::size_t const classes = predictions.shape(1);
    T const class_share = smoothing / static_cast<T>(classes);
    batch_metrics<T> sum;
    T const* row = predictions.data();
    for (std::uint8_t const label : labels) {
      expects(label < classes, "softmax_cross_entropy: labels must be below the number of classes, ", classes, ", not ",
              label);
      std::size_t best = 0;
      for (std::size_t c = 1; c != classes; ++c) {
        best = row[c] > row[best] ? c : best;
      }
      T const top = row[best];
      T total = 0;
      for (std::size_t c = 0; c != classes; ++c) {
        T const e = detail::exponential(row[c] - top);
        total += e;
        if constexpr (Differentiates) {
          derivative[c] = e;
        }
      }
      T target_distance = top - row[label];  // from the largest number to the mean by the target's shares
      if (smoothing != T{0}) {
        target_distance *= T{1} - smoothing;
        for (std::size_t c = 0; c != classes; ++c) {
          target_distance += class_share * (top - row[c]);
        }
      }
      sum.loss += std::log(total) + target_distance;
      sum.correct += best == label ? T{1} : T{0};
      if constexpr (Differentiates) {
        T const factor = scale / total;
        for (std::size_t c = 0; c != classes; ++c) {
          derivative[c] = derivative[c] * factor - scale * class_share;
        }
        derivative[label] -= scale * (T{1} - smoothing);
        derivative += classes;
      }
      row += classes;
    }
    return sum;
  }
};

}  // namespace tutti::nn
