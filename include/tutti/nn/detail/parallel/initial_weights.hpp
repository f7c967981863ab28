// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/random.hpp>
#include <tutti/nn/extend/parallel.hpp>

#include <cmath>
#include <cstddef>
#include <span>

namespace tutti::inline v0_1_0::nn::detail::inline parallel {

/// Draws the part of a dense layer's initial weights (dense::initialise, inputs x outputs) that belongs to these
/// inputs and outputs: parts equal those of the whole layer, and no rank needs memory for the whole.
///
/// Cost: draws all of the layer's weights.
template <class Activation, class T>
void draw_weights(random_sequence& random, std::size_t inputs, std::size_t outputs, range rows, range columns,
                  std::span<T> part) {
  T const limit = std::sqrt(T{3} / static_cast<T>(inputs)) * static_cast<T>(Activation::gain);
  auto next_weight = part.begin();
  for (std::size_t i = 0; i != inputs; ++i) {
    for (std::size_t j = 0; j != outputs; ++j) {
      T const weight = (T{2} * random.fraction<T>() - T{1}) * limit;
      if (i - rows.first < rows.count && j - columns.first < columns.count) {
        *next_weight++ = weight;
      }
    }
  }
}

}  // namespace tutti::nn::detail::parallel
