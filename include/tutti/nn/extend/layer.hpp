// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/pass.hpp>
#include <tutti/nn/random.hpp>
#include <tutti/nn/tensor.hpp>

#include <concepts>
#include <cstddef>
#include <span>

namespace tutti::inline v0_1_0::nn {

/// Where a layer's weights lie at the beginning of its parameters: `blocks` matrices after one another,
/// each of `length` rows and `units` columns. A column is what one unit multiplies its inputs by.
struct weight_blocks {
  std::size_t blocks = 0;  ///< how many matrices
  std::size_t length = 0;  ///< the rows of each
  std::size_t units = 0;   ///< the columns of each
};

/// One stage of a model: a differentiable function from rows of `inputs()` numbers to rows of
/// `outputs()` numbers. Between layers an image lies row after row, pixel after pixel, the channels of
/// a pixel beside each other.
///
/// A layer is made as a description, without memory. It owns no parameters: with `bind` it is given its
/// parts of three vectors, of all parameters, of all gradients, and of all statistics - what it has
/// to remember but does not learn. `reserve(rows)` makes the room that batches of this many rows take;
/// later calls do not allocate.
///
/// `forward(how, x, y)` writes y. `backward(how, x, y, dy, dx)` is given what the forward before it,
/// in training, saw and made, and the derivative of the loss by y, which it may overwrite; it writes -
/// does not add to - its gradients and, unless dx has no columns, the derivative by x. Batches have
/// at least one row. A layer for which the derivative by x is much work says `how.completed(gradients)`
/// before: the gradients can be on their way meanwhile. Whatever it says, the sequence says after it.
///
/// `geometry()` says what the layer computes: one of the structs of nn/layer/geometry.hpp.
///
/// Laws (test/nn/layer_laws.hpp): gradients equal central differences of the loss; float follows double.
template <class L>
concept layer = requires(L& l, L const& c, random_sequence& random, pass<typename L::value_type> const& how,
                         matrix_view<typename L::value_type const> const& x, matrix_view<typename L::value_type> y,
                         std::span<typename L::value_type> part, std::size_t rows) {
  { c.inputs() } -> std::same_as<std::size_t>;
  { c.outputs() } -> std::same_as<std::size_t>;
  { c.parameters() } -> std::same_as<std::size_t>;
  { c.statistics() } -> std::same_as<std::size_t>;
  { c.weights() } -> std::same_as<weight_blocks>;
  { l.bind(part, part, part) } -> std::same_as<void>;
  { l.initialise(random) } -> std::same_as<void>;
  { l.reserve(rows) } -> std::same_as<void>;
  { l.forward(how, x, y) } -> std::same_as<void>;
  { l.backward(how, x, y, y, y) } -> std::same_as<void>;
};

/// The function that a layer applies to each of its sums, with its derivative as a function of its
/// value, so that nothing but the layer's output has to be kept. Both vectorise.
template <class A, class T>
concept activation = std::default_initializable<A> && requires(T number) {
  { A::value(number) } -> std::same_as<T>;
  { A::slope(number) } -> std::same_as<T>;
  { A::gain } -> std::convertible_to<double>;
};

}  // namespace tutti::nn
