// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/expects.hpp>
#include <tutti/nn/layer/dense.hpp>
#include <tutti/nn/layer/identity.hpp>
#include <tutti/nn/layer/relu.hpp>
#include <tutti/nn/layer/sigmoid.hpp>
#include <tutti/nn/layer/tanh.hpp>
#include <tutti/nn/parameter_range.hpp>

#include <cstddef>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace tutti::nn {

/// The layers that a model of numbers T can be built of.
template <class T>
using any_layer = std::variant<dense<T, identity>, dense<T, relu>, dense<T, tanh>, dense<T, sigmoid>>;

/// A sequence of layers. All parameters lie in one contiguous vector and all gradients in another, so
/// that a world shares or sums them by one operation on one range.
///
/// The vector of gradients may be followed by a few numbers more that travel with it, such as the
/// loss: a second operation a step would cost its latency again.
template <class T>
class model {
 public:
  using value_type = T;

  /// @pre each layer's inputs are the outputs of the one before
  explicit model(std::vector<any_layer<T>> layers, std::size_t attached = 0) : layers_(std::move(layers)) {
    expects(!layers_.empty(), "model: at least one layer");
    std::size_t count = 0;
    for (std::size_t i = 0; i != layers_.size(); ++i) {
      expects(i == 0 || outputs_of(layers_[i - 1]) == inputs_of(layers_[i]),
              "model: a layer takes as many numbers as the one before it gives");
      count += parameters_of(layers_[i]);
    }
    parameters_.resize(count);
    message_.resize(count + attached);
    std::size_t first = 0;
    for (auto& one : layers_) {
      std::size_t const size = parameters_of(one);
      std::visit([&](auto& l) { l.bind(parameters().subspan(first, size), gradients().subspan(first, size)); }, one);
      first += size;
    }
    values_.resize(layers_.size());
    slopes_.resize(layers_.size());
  }

  // Layers view the vectors: a move keeps those, a copy would not.
  model(model&&) noexcept = default;
  model& operator=(model&&) noexcept = default;

  [[nodiscard]] std::size_t inputs() const { return inputs_of(layers_.front()); }
  [[nodiscard]] std::size_t outputs() const { return outputs_of(layers_.back()); }
  [[nodiscard]] std::size_t layers() const noexcept { return layers_.size(); }

  [[nodiscard]] std::span<T> parameters() noexcept { return parameters_; }
  [[nodiscard]] std::span<T const> parameters() const noexcept { return parameters_; }
  [[nodiscard]] std::span<T> gradients() noexcept { return std::span<T>(message_).first(parameters_.size()); }
  /// The numbers that travel with the gradients.
  [[nodiscard]] std::span<T> attached() noexcept { return std::span<T>(message_).subspan(parameters_.size()); }
  /// The gradients and what is attached to them, in one range.
  [[nodiscard]] std::span<T> message() noexcept { return message_; }

  /// Where each layer's parameters lie, in the order of the layers; those that have none are left out.
  [[nodiscard]] std::vector<parameter_range> ranges() const {
    std::vector<parameter_range> result;
    std::size_t offset = 0;
    for (auto const& one : layers_) {
      if (std::size_t const size = parameters_of(one); size != 0) {
        result.push_back({offset, size});
        offset += size;
      }
    }
    return result;
  }

  /// Random weights, the same for the same seed on every platform.
  void initialise(std::uint64_t seed) {
    for (std::size_t i = 0; i != layers_.size(); ++i) {
      random_sequence random(seed, i);
      std::visit([&](auto& l) { l.initialise(random); }, layers_[i]);
    }
  }

  /// Makes room for batches of so many rows; larger ones allocate when they come.
  void reserve(std::size_t rows) {
    if (rows <= rows_) {
      return;
    }
    rows_ = rows;
    for (std::size_t i = 0; i != layers_.size(); ++i) {
      values_[i].resize({rows, outputs_of(layers_[i])});
      slopes_[i].resize({rows, outputs_of(layers_[i])});
    }
  }

  /// The last layer's values for a batch; they stay valid until the next one.
  /// @pre x has at least one row and inputs() columns
  matrix_view<T> forward(matrix_view<T const> const& x) {
    expects(x.shape(0) != 0 && x.shape(1) == inputs(), "model: forward takes rows of inputs() numbers");
    reserve(x.shape(0));
    batch_ = x.shape(0);
    for (std::size_t i = 0; i != layers_.size(); ++i) {
      std::visit([&](auto const& l) { l.forward(input_of(i, x), first_rows(values_[i], batch_)); }, layers_[i]);
    }
    return first_rows(values_.back(), batch_);
  }

  /// Where the derivative of the loss by the values that forward gave is to be written.
  [[nodiscard]] matrix_view<T> derivatives() { return first_rows(slopes_.back(), batch_); }

  /// The gradients of the loss by the parameters, from derivatives(), which it uses up.
  /// @pre x is the batch that forward was called with last
  void backward(matrix_view<T const> const& x) {
    expects(x.shape(0) == batch_, "model: backward takes the batch that forward was called with");
    for (std::size_t i = layers_.size(); i-- != 0;) {
      auto const before = i == 0 ? view<T>(nullptr, batch_, 0) : first_rows(slopes_[i - 1], batch_);
      std::visit(
          [&](auto const& l) {
            l.backward(input_of(i, x), first_rows(values_[i], batch_), first_rows(slopes_[i], batch_), before);
          },
          layers_[i]);
    }
  }

 private:
  static std::size_t inputs_of(any_layer<T> const& one) {
    return std::visit([](auto const& l) { return l.inputs(); }, one);
  }
  static std::size_t outputs_of(any_layer<T> const& one) {
    return std::visit([](auto const& l) { return l.outputs(); }, one);
  }
  static std::size_t parameters_of(any_layer<T> const& one) {
    return std::visit([](auto const& l) { return l.parameters(); }, one);
  }

  [[nodiscard]] matrix_view<T const> input_of(std::size_t i, matrix_view<T const> const& x) {
    return i == 0 ? x : read_only<T>(first_rows(values_[i - 1], batch_));
  }

  std::vector<any_layer<T>> layers_;
  std::vector<T> parameters_;
  std::vector<T> message_;
  std::vector<matrix<T>> values_;  // of each layer
  std::vector<matrix<T>> slopes_;  // derivative of the loss by each layer's values
  std::size_t rows_ = 0;           // that there is room for
  std::size_t batch_ = 0;          // rows of the last batch
};

}  // namespace tutti::nn
