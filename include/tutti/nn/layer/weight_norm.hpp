// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/nn/extend/layer.hpp>
#include <tutti/nn/extend/layer_list.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// A layer whose weights w are learned as a direction v and a length g for each unit: w = g v / |v|.
///
/// Salimans, Kingma, "Weight normalization", NIPS 2016.
/// Cost: two passes over the weights each way, in addition to the layer's own.
template <class T>
class weight_norm final : public layer<T> {
 public:
  /// @pre exactly one layer, with weights: a dense layer or a convolution
  explicit weight_norm(layer_list<T> inner) : inner_(std::move(inner)) {
    expects(inner_.size() == 1 && inner_.front().weights().units != 0,
            "weight_norm: the layer must have weights; give a dense layer or a convolution");
  }

  [[nodiscard]] std::unique_ptr<layer<T>> clone() const override { return std::make_unique<weight_norm>(*this); }
  [[nodiscard]] std::size_t inputs() const override { return inner_.front().inputs(); }
  [[nodiscard]] std::size_t outputs() const override { return inner_.front().outputs(); }
  [[nodiscard]] std::size_t parameters() const override {
    auto const layout = inner_.front().weights();
    return inner_.front().parameters() + layout.blocks * layout.units;
  }
  /// The number of directions: their decay raises the rate at which they turn, and lengths are free.
  [[nodiscard]] std::size_t decayed_parameters() const override { return inner_.front().decayed_parameters(); }
  [[nodiscard]] std::size_t statistics() const override { return inner_.front().statistics(); }
  [[nodiscard]] geometry::variant geometry() const override {
    auto const layout = inner_.front().weights();
    return {geometry::weight_norm{
        {inner_.front().geometry()}, layout.blocks, layout.length, layout.units, inner_.front().parameters()}};
  }

  /// Binds the vectors: v, the layer's other parameters, then g.
  void bind(std::span<T> parameters, std::span<T> gradients, std::span<T> statistics) override {
    expects(parameters.size() == this->parameters() && gradients.size() == this->parameters(),
            "weight_norm: bind takes ", this->parameters(), " parameters and as many gradients, not ",
            parameters.size(), " and ", gradients.size());
    parameters_ = parameters;
    gradients_ = gradients;
    weights_.resize(inner_.front().parameters());
    weight_gradients_.resize(weights_.size());
    sums_.resize(2 * inner_.front().weights().units);
    inner_.front().bind(weights_, weight_gradients_, statistics);
  }

  /// Draws directions as the layer draws its weights, and sets lengths so that w = v.
  void initialise(random_sequence& random) override {
    inner_.front().initialise(random);
    std::ranges::copy(weights_, parameters_.begin());
    for_each_block([&](block const& b) {
      measure(b);
      std::transform(squares(), squares() + b.units, b.lengths, [](T square) { return std::sqrt(square); });
    });
  }

  void reserve(std::size_t rows) override { inner_.front().reserve(rows); }

  void forward(batch_context<T> const& context, matrix_view<T const> const& x, matrix_view<T> y) override {
    std::ranges::copy(parameters_.first(weights_.size()), weights_.begin());
    for_each_block([&](block const& b) {
      measure(b);
      for (std::size_t i = 0; i != b.length; ++i) {
        for (std::size_t u = 0; u != b.units; ++u) {
          weights_[b.first + i * b.units + u] *= b.lengths[u] / std::sqrt(squares()[u]);
        }
      }
    });
    inner_.front().forward(context, x, y);
  }

  /// Computes the gradients. With n = v / |v|: dg = dw n, dv = g / |v| (dw - dg n).
  void backward(batch_context<T> const& context, matrix_view<T const> const& x, matrix_view<T> const& y,
                matrix_view<T> dy, matrix_view<T> dx) override {
    batch_context<T> inner_context = context;
    inner_context.on_completion = {};  // the layer's gradients are not yet those of the model
    inner_.front().backward(inner_context, x, y, dy, dx);
    std::ranges::copy(weight_gradients_, gradients_.begin());
    for_each_block([&](block const& b) {
      measure(b);
      T* const products = squares() + b.units;
      std::fill_n(products, b.units, T{0});
      T const* const v = parameters_.data() + b.first;
      T* const gradients = gradients_.data() + b.first;
      for (std::size_t i = 0; i != b.length * b.units; ++i) {
        products[i % b.units] += gradients[i] * v[i];
      }
      for (std::size_t u = 0; u != b.units; ++u) {
        gradients_[weights_.size() + b.number * b.units + u] = products[u] / std::sqrt(squares()[u]);
      }
      for (std::size_t i = 0; i != b.length * b.units; ++i) {
        std::size_t const u = i % b.units;
        gradients[i] = b.lengths[u] / std::sqrt(squares()[u]) * (gradients[i] - v[i] * products[u] / squares()[u]);
      }
    });
  }

 private:
  struct block {
    std::size_t number;
    std::size_t first;  // index of its first parameter
    std::size_t length;
    std::size_t units;
    T* lengths;  // g
  };

  [[nodiscard]] T* squares() noexcept { return sums_.data(); }

  template <class F>
  void for_each_block(F const& f) {
    auto const layout = inner_.front().weights();
    for (std::size_t b = 0; b != layout.blocks; ++b) {
      f(block{b, b * layout.length * layout.units, layout.length, layout.units,
              parameters_.data() + weights_.size() + b * layout.units});
    }
  }

  /// Computes the squared length |v|^2 of each unit.
  void measure(block const& b) {
    std::fill_n(squares(), b.units, T{0});
    T const* v = parameters_.data() + b.first;
    for (std::size_t i = 0; i != b.length; ++i, v += b.units) {
      for (std::size_t u = 0; u != b.units; ++u) {
        squares()[u] += v[u] * v[u];
      }
    }
  }

  layer_list<T> inner_;  // exactly one layer
  std::span<T> parameters_;
  std::span<T> gradients_;
  std::vector<T> weights_;           // parameters of the inner layer
  std::vector<T> weight_gradients_;  // gradients of the inner layer
  std::vector<T> sums_;              // a square and a product for each unit
};

#ifdef TUTTI_SEPARATE_COMPILATION
extern template class weight_norm<float>;
extern template class weight_norm<double>;
#endif

}  // namespace tutti::nn
