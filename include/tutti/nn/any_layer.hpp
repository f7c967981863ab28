// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/extend/layer.hpp>
#include <tutti/nn/layer/activation.hpp>
#include <tutti/nn/layer/batch_norm.hpp>
#include <tutti/nn/layer/channels_last.hpp>
#include <tutti/nn/layer/conv2d.hpp>
#include <tutti/nn/layer/dense.hpp>
#include <tutti/nn/layer/dropout.hpp>
#include <tutti/nn/layer/geometry.hpp>
#include <tutti/nn/layer/pooling.hpp>
#include <tutti/nn/layer/residual.hpp>
#include <tutti/nn/layer/weight_norm.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <utility>
#include <variant>

namespace tutti::inline v0_1_0::nn {

/// Any of the layers that a model of numbers T can be built of.
template <class T>
class any_layer {
  using alternatives = std::variant<dense<T, identity>, dense<T, relu>, dense<T, tanh>, dense<T, sigmoid>,
                                    conv2d<T, identity>, conv2d<T, relu>, conv2d<T, tanh>, conv2d<T, sigmoid>,
                                    max_pool<T>, average_pool<T>, batch_norm<T, identity>, batch_norm<T, relu>,
                                    dropout<T>, channels_last<T>, residual<T>, weight_norm<T>>;

 public:
  /// The type of number that is computed in.
  using value_type = T;

  /// Holds a layer.
  template <class Layer>
    requires(!std::same_as<Layer, any_layer>)
  any_layer(Layer one) : one_(std::move(one)) {}

  /// Holds a copy of the layer.
  any_layer(any_layer const&);
  /// Takes the layer over.
  any_layer(any_layer&&) noexcept;
  /// Copies the other's value.
  any_layer& operator=(any_layer const&);
  /// Takes over the other's value, and releases that of before.
  any_layer& operator=(any_layer&&) noexcept;
  ~any_layer();

  /// Calls f with the layer itself.
  template <class F>
  decltype(auto) visit(F&& f) const {
    return std::visit(std::forward<F>(f), one_);
  }

  /// The number of values in a row of the input.
  [[nodiscard]] std::size_t inputs() const;
  /// The number of values in a row of the output.
  [[nodiscard]] std::size_t outputs() const;
  /// The number of parameters that are learned.
  [[nodiscard]] std::size_t parameters() const;
  /// The number of values that are remembered but not learned.
  [[nodiscard]] std::size_t statistics() const;
  /// The places of the weights among the parameters.
  [[nodiscard]] weight_blocks weights() const;
  /// The computation as data, without its arithmetic.
  [[nodiscard]] geometry::any geometry() const;
  /// Gives the layer its parts of all parameters, gradients and statistics.
  void bind(std::span<T> parameters, std::span<T> gradients, std::span<T> statistics);
  /// Draws the first parameters; the same random numbers give the same parameters.
  void initialise(random_sequence& random);
  /// Makes room for batches of this many rows; later calls do not allocate.
  void reserve(std::size_t rows);
  /// Computes y from x, a row for each row.
  void forward(pass<T> const& how, matrix_view<T const> const& x, matrix_view<T> y);
  /// Computes the gradients from dy, the derivative by y, and dx, that by x, unless dx has no columns.
  void backward(pass<T> const& how, matrix_view<T const> const& x, matrix_view<T> const& y, matrix_view<T> dy,
                matrix_view<T> dx);

 private:
  alternatives one_;
};

// Not in the class, where they would be inline: g++ compiles inline members even where another unit has them.

template <class T>
any_layer<T>::any_layer(any_layer const&) = default;
template <class T>
any_layer<T>::any_layer(any_layer&&) noexcept = default;
template <class T>
any_layer<T>& any_layer<T>::operator=(any_layer const&) = default;
template <class T>
any_layer<T>& any_layer<T>::operator=(any_layer&&) noexcept = default;
template <class T>
any_layer<T>::~any_layer() = default;

template <class T>
std::size_t any_layer<T>::inputs() const {
  return visit([](auto const& l) { return l.inputs(); });
}

template <class T>
std::size_t any_layer<T>::outputs() const {
  return visit([](auto const& l) { return l.outputs(); });
}

template <class T>
std::size_t any_layer<T>::parameters() const {
  return visit([](auto const& l) { return l.parameters(); });
}

template <class T>
std::size_t any_layer<T>::statistics() const {
  return visit([](auto const& l) { return l.statistics(); });
}

template <class T>
weight_blocks any_layer<T>::weights() const {
  return visit([](auto const& l) { return l.weights(); });
}

template <class T>
geometry::any any_layer<T>::geometry() const {
  return {visit([](auto const& l) -> decltype(geometry::any::one) { return l.geometry(); })};
}

template <class T>
void any_layer<T>::bind(std::span<T> parameters, std::span<T> gradients, std::span<T> statistics) {
  std::visit([&](auto& l) { l.bind(parameters, gradients, statistics); }, one_);
}

template <class T>
void any_layer<T>::initialise(random_sequence& random) {
  std::visit([&](auto& l) { l.initialise(random); }, one_);
}

template <class T>
void any_layer<T>::reserve(std::size_t rows) {
  std::visit([&](auto& l) { l.reserve(rows); }, one_);
}

template <class T>
void any_layer<T>::forward(pass<T> const& how, matrix_view<T const> const& x, matrix_view<T> y) {
  std::visit([&](auto& l) { l.forward(how, x, y); }, one_);
}

template <class T>
void any_layer<T>::backward(pass<T> const& how, matrix_view<T const> const& x, matrix_view<T> const& y,
                            matrix_view<T> dy, matrix_view<T> dx) {
  std::visit([&](auto& l) { l.backward(how, x, y, dy, dx); }, one_);
}

#ifdef TUTTI_SEPARATE_COMPILATION
extern template class any_layer<float>;
extern template class any_layer<double>;
#endif

static_assert(layer<any_layer<float>>);

}  // namespace tutti::nn
