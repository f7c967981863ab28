// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/base/batch_context.hpp>
#include <tutti/nn/base/random.hpp>
#include <tutti/nn/base/tensor.hpp>
#include <tutti/nn/extend/geometry.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// The place of a layer's weights at the beginning of its parameters: `blocks` matrices one after another, each of
/// `length` rows and `units` columns. A column holds the factors of one unit's inputs.
struct weight_blocks {
  std::size_t blocks = 0;  ///< number of matrices
  std::size_t length = 0;  ///< rows of each matrix
  std::size_t units = 0;   ///< columns of each matrix
};

/// One stage of a model: a differentiable function from rows of `inputs()` values to rows of `outputs()` values.
/// Between layers an image is stored row after row, pixel after pixel, with the channels of a pixel beside each
/// other.
///
/// A layer is constructed as a description, without memory, and may be copied until it is bound. It owns no
/// parameters: `bind` gives it its parts of three vectors, of all parameters, of all gradients, and of all statistics
/// (values that it keeps but does not learn).
///
/// A layer without parameters and statistics overrides the pure functions only.
///
/// Laws (test/nn/layer_laws.hpp): gradients equal central differences of the loss; float follows double.
template <class T>
class layer {
 public:
  /// The type of the numbers.
  using value_type = T;

  virtual ~layer() = default;

  /// Returns a copy of this layer.
  [[nodiscard]] virtual std::unique_ptr<layer> clone() const = 0;

  /// The number of values in a row of x.
  [[nodiscard]] virtual std::size_t inputs() const = 0;
  /// The number of values in a row of y.
  [[nodiscard]] virtual std::size_t outputs() const = 0;
  /// The number of parameters.
  [[nodiscard]] virtual std::size_t parameters() const { return 0; }
  /// The number of statistics: values that it keeps but does not learn.
  [[nodiscard]] virtual std::size_t statistics() const { return 0; }
  /// The place of the weights among the parameters, if `weight_norm` is to apply to them.
  [[nodiscard]] virtual weight_blocks weights() const { return {}; }
  /// The number of its first parameters that weight decay pulls towards zero, unless `settings::decays_all`: the
  /// weights, or all parameters of a layer that does not tell its weights.
  [[nodiscard]] virtual std::size_t decayed_parameters() const {
    weight_blocks const layout = weights();
    return layout.units == 0 ? parameters() : layout.blocks * layout.length * layout.units;
  }
  /// The number of times that forward uses each parameter for a row; in a convolution, once for each pixel of its
  /// output.
  [[nodiscard]] virtual std::size_t pixels() const { return 1; }
  /// Appends the layers that this one consists of: itself, unless it is a block of others.
  virtual void list_parts(std::vector<layer const*>& parts) const { parts.push_back(this); }
  /// Describes the function without its arithmetic, for a device and for files.
  /// @throws precondition_error by default: such a layer runs on the host only, and its model cannot be saved
  [[nodiscard]] virtual geometry::variant geometry() const {
    expects(false,
            "layer: devices compute, and files describe, only layers that override geometry(); train this one on the "
            "host, without a description");
    return {};
  }

  /// Receives the layer's parts of the three vectors, which outlive this layer.
  virtual void bind(std::span<T> /*parameters*/, std::span<T> /*gradients*/, std::span<T> /*statistics*/) {}
  /// Draws the initial parameters. Equal random numbers give equal parameters.
  virtual void initialise(random_sequence& /*random*/) {}
  /// Allocates memory for batches of this many rows; later calls do not allocate.
  virtual void reserve(std::size_t /*rows*/) {}
  /// Computes y from x. Batches have at least one row.
  virtual void forward(batch_context<T> const& context, matrix_view<T const> const& x, matrix_view<T> y) = 0;
  /// Overwrites its gradients and, unless dx has no columns, the derivative with respect to x.
  ///
  /// A layer with an expensive derivative with respect to x calls `context.on_completion(gradients)` before computing
  /// it, so that the gradients can be sent meanwhile. Otherwise the sequence makes that call after the layer.
  ///
  /// @param x,y the input and output of the preceding `forward` in training
  /// @param dy the derivative of the loss with respect to y, which may be overwritten
  virtual void backward(batch_context<T> const& context, matrix_view<T const> const& x, matrix_view<T> const& y,
                        matrix_view<T> dy, matrix_view<T> dx) = 0;

 protected:
  layer() = default;
  /// Copies as a part of a derived class.
  layer(layer const&) = default;
  /// Moves as a part of a derived class.
  layer(layer&&) noexcept = default;
  /// Copies as a part of a derived class.
  layer& operator=(layer const&) = default;
  /// Moves as a part of a derived class.
  layer& operator=(layer&&) noexcept = default;
};

/// The function that a layer applies to each sum. Its derivative is a function of its value, so that only the layer's
/// output has to be kept. Both vectorise.
template <class A, class T>
concept activation = std::default_initializable<A> && requires(T number) {
  { A::value(number) } -> std::same_as<T>;
  { A::derivative(number) } -> std::same_as<T>;
  { A::gain } -> std::convertible_to<double>;
};

}  // namespace tutti::nn
