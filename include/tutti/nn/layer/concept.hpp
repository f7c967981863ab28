// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/random.hpp>
#include <tutti/nn/tensor.hpp>

#include <concepts>
#include <cstddef>
#include <span>

namespace tutti::nn {

/// One stage of a model: a differentiable function from rows of `inputs()` numbers to rows of
/// `outputs()` numbers. A layer owns no parameters: it views the parts of two vectors, of all
/// parameters and of all gradients, that the model hands it with `bind`.
///
/// `forward(x, y)` writes y. `backward(x, y, dy, dx)` is given what forward saw and made, and the
/// derivative of the loss by y, which it may overwrite; it writes - does not add to - its gradients
/// and, unless dx has no columns, the derivative by x. Batches have at least one row.
///
/// Law (test/nn/gradients.cpp): gradients equal central differences of the loss.
template <class L>
concept layer = requires(L& l, L const& c, typename L::value_type* at, random_sequence& random,
                         matrix_view<typename L::value_type const> const& x, matrix_view<typename L::value_type> y,
                         std::span<typename L::value_type> part) {
  { c.inputs() } -> std::same_as<std::size_t>;
  { c.outputs() } -> std::same_as<std::size_t>;
  { c.parameters() } -> std::same_as<std::size_t>;
  { l.bind(part, part) } -> std::same_as<void>;
  { l.initialise(random) } -> std::same_as<void>;
  { c.forward(x, y) } -> std::same_as<void>;
  { c.backward(x, y, y, y) } -> std::same_as<void>;
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
