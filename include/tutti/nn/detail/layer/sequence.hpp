// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/extend/layer.hpp>
#include <tutti/nn/extend/layer_list.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline layer {

/// Layers, each with the outputs of the one before it as inputs.
template <class T>
class sequence {
 public:
  using value_type = T;

  /// @pre at least one layer; each layer's inputs are the outputs of the one before
  explicit sequence(layer_list<T> layers) : layers_(std::move(layers)) {
    expects(!layers_.empty(), "model: there must be at least one layer");
    for (std::size_t i = 1; i != layers_.size(); ++i) {
      expects(layers_[i - 1].outputs() == layers_[i].inputs(), "model: layer ", i, " takes ", layers_[i].inputs(),
              " numbers, but the layer before it gives ", layers_[i - 1].outputs());
    }
  }

  [[nodiscard]] layer_list<T>& layers() noexcept { return layers_; }
  [[nodiscard]] layer_list<T> const& layers() const noexcept { return layers_; }

  [[nodiscard]] std::size_t inputs() const { return layers_.front().inputs(); }
  [[nodiscard]] std::size_t outputs() const { return layers_.back().outputs(); }
  [[nodiscard]] std::size_t parameters() const {
    std::size_t count = 0;
    for (auto const& layer : layers_) {
      count += layer.parameters();
    }
    return count;
  }
  [[nodiscard]] std::size_t statistics() const {
    std::size_t count = 0;
    for (auto const& layer : layers_) {
      count += layer.statistics();
    }
    return count;
  }
  void list_parts(std::vector<nn::layer<T> const*>& parts) const {
    for (auto const& layer : layers_) {
      layer.list_parts(parts);
    }
  }
  [[nodiscard]] std::vector<geometry::variant> geometries() const {
    std::vector<geometry::variant> result;
    result.reserve(layers_.size());
    for (auto const& layer : layers_) {
      result.push_back(layer.geometry());
    }
    return result;
  }

  /// Binds the vectors: the parts of the layers, one after another.
  void bind(std::span<T> parameters, std::span<T> gradients, std::span<T> statistics) {
    values_.resize(layers_.size() - 1);
    output_gradients_.resize(layers_.size() - 1);
    gradients_ = gradients;
    first_learning_ = 0;
    while (first_learning_ + 1 != layers_.size() && layers_[first_learning_].parameters() == 0) {
      ++first_learning_;
    }
    for (auto& layer : layers_) {
      std::size_t const parameter_count = layer.parameters();
      std::size_t const statistics_count = layer.statistics();
      layer.bind(parameters.first(parameter_count), gradients.first(parameter_count),
                 statistics.first(statistics_count));
      parameters = parameters.subspan(parameter_count);
      gradients = gradients.subspan(parameter_count);
      statistics = statistics.subspan(statistics_count);
    }
    expects(parameters.empty() && statistics.empty(), "sequence: bind got ", parameters.size(), " parameters and ",
            statistics.size(), " statistics too many");
  }

  void initialise(random_sequence& random) {
    for (auto& layer : layers_) {
      layer.initialise(random);
    }
  }

  /// Draws the initial weights of a model. Each layer's weights are independent of the other layers.
  void draw(std::uint64_t seed) {
    for (std::size_t i = 0; i != layers_.size(); ++i) {
      random_sequence random(seed, i);
      layers_[i].initialise(random);
    }
  }

  void reserve(std::size_t rows) {
    for (auto& layer : layers_) {
      layer.reserve(rows);
    }
    for (std::size_t i = 0; i != values_.size(); ++i) {
      values_[i].resize({rows, layers_[i].outputs()});
      output_gradients_[i].resize({rows, layers_[i].outputs()});
    }
  }

  void forward(batch_context<T> const& context, matrix_view<T const> const& x, matrix_view<T> y) {
    for (std::size_t i = 0; i != layers_.size(); ++i) {
      layers_[i].forward(context, input_of(i, x), output_of(i, y));
    }
  }

  void backward(batch_context<T> const& context, matrix_view<T const> const& x, matrix_view<T> const& y,
                matrix_view<T> dy, matrix_view<T> dx) {
    std::size_t const rows = x.shape(0);
    T const* first = gradients_.data() + gradients_.size();
    // Earlier layers have no parameters and need no derivatives.
    std::size_t const last = dx.shape(1) == 0 ? first_learning_ : 0;
    for (std::size_t i = layers_.size(); i-- != last;) {
      layers_[i].backward(context, input_of(i, x), output_of(i, y),
                          i == values_.size() ? dy : first_rows(output_gradients_[i], rows),
                          i == 0      ? dx
                          : i == last ? view<T>(nullptr, rows, 0)
                                      : first_rows(output_gradients_[i - 1], rows));
      first -= layers_[i].parameters();
      context.on_completion(first);
    }
  }

 private:
  [[nodiscard]] matrix_view<T const> input_of(std::size_t i, matrix_view<T const> const& x) {
    return i == 0 ? x : read_only<T>(first_rows(values_[i - 1], x.shape(0)));
  }
  [[nodiscard]] matrix_view<T> output_of(std::size_t i, matrix_view<T> const& y) {
    return i == values_.size() ? y : first_rows(values_[i], y.shape(0));
  }

  layer_list<T> layers_;
  std::vector<matrix<T>> values_;            // outputs of each layer but the last
  std::vector<matrix<T>> output_gradients_;  // derivative of the loss with respect to values_
  std::span<T> gradients_;
  std::size_t first_learning_ = 0;  // index of the first layer with parameters
};

}  // namespace tutti::nn::detail::layer
