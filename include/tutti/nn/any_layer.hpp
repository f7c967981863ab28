// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/layer/activation.hpp>
#include <tutti/nn/layer/batch_norm.hpp>
#include <tutti/nn/layer/channels_last.hpp>
#include <tutti/nn/layer/concept.hpp>
#include <tutti/nn/layer/conv2d.hpp>
#include <tutti/nn/layer/dense.hpp>
#include <tutti/nn/layer/dropout.hpp>
#include <tutti/nn/layer/pooling.hpp>
#include <tutti/nn/layer/residual.hpp>
#include <tutti/nn/layer/weight_norm.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <utility>
#include <variant>

namespace tutti::nn {

/// Any of the layers that a model of numbers T can be built of.
template <class T>
class any_layer {
  using alternatives = std::variant<dense<T, identity>, dense<T, relu>, dense<T, tanh>, dense<T, sigmoid>,
                                    conv2d<T, identity>, conv2d<T, relu>, conv2d<T, tanh>, conv2d<T, sigmoid>,
                                    max_pool<T>, average_pool<T>, batch_norm<T, identity>, batch_norm<T, relu>,
                                    dropout<T>, channels_last<T>, residual<T>, weight_norm<T>>;

 public:
  using value_type = T;

  template <class Layer>
    requires(!std::same_as<Layer, any_layer>)
  any_layer(Layer one) : one_(std::move(one)) {}

  /// Calls f with the layer itself.
  template <class F>
  decltype(auto) visit(F&& f) const {
    return std::visit(std::forward<F>(f), one_);
  }

  [[nodiscard]] std::size_t inputs() const {
    return visit([](auto const& l) { return l.inputs(); });
  }
  [[nodiscard]] std::size_t outputs() const {
    return visit([](auto const& l) { return l.outputs(); });
  }
  [[nodiscard]] std::size_t parameters() const {
    return visit([](auto const& l) { return l.parameters(); });
  }
  [[nodiscard]] std::size_t statistics() const {
    return visit([](auto const& l) { return l.statistics(); });
  }
  [[nodiscard]] weight_blocks weights() const {
    return visit([](auto const& l) { return l.weights(); });
  }
  void bind(std::span<T> parameters, std::span<T> gradients, std::span<T> statistics) {
    std::visit([&](auto& l) { l.bind(parameters, gradients, statistics); }, one_);
  }
  void initialise(random_sequence& random) {
    std::visit([&](auto& l) { l.initialise(random); }, one_);
  }
  void reserve(std::size_t rows) {
    std::visit([&](auto& l) { l.reserve(rows); }, one_);
  }
  void forward(pass<T> const& how, matrix_view<T const> const& x, matrix_view<T> y) {
    std::visit([&](auto& l) { l.forward(how, x, y); }, one_);
  }
  void backward(pass<T> const& how, matrix_view<T const> const& x, matrix_view<T> const& y, matrix_view<T> dy,
                matrix_view<T> dx) {
    std::visit([&](auto& l) { l.backward(how, x, y, dy, dx); }, one_);
  }

 private:
  alternatives one_;
};

static_assert(layer<any_layer<float>>);

}  // namespace tutti::nn
