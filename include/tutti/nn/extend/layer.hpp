// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/base/pass.hpp>
#include <tutti/nn/base/random.hpp>
#include <tutti/nn/base/tensor.hpp>
#include <tutti/nn/extend/geometry.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

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
/// A layer is made as a description, without memory, and may be copied until it is bound. It owns no parameters: with
/// `bind` it is given its parts of three vectors, of all parameters, of all gradients, and of all statistics - what it
/// has to remember but does not learn.
///
/// A layer that learns nothing and remembers nothing overrides the pure functions only.
///
/// Laws (test/nn/layer_laws.hpp): gradients equal central differences of the loss; float follows double.
template <class T>
class layer {
 public:
  /// The type of number that is computed in.
  using value_type = T;

  virtual ~layer() = default;

  /// A copy of this layer.
  [[nodiscard]] virtual std::unique_ptr<layer> clone() const = 0;

  /// The numbers in a row of x.
  [[nodiscard]] virtual std::size_t inputs() const = 0;
  /// The numbers in a row of y.
  [[nodiscard]] virtual std::size_t outputs() const = 0;
  /// The numbers that it learns.
  [[nodiscard]] virtual std::size_t parameters() const { return 0; }
  /// The numbers that it remembers and does not learn.
  [[nodiscard]] virtual std::size_t statistics() const { return 0; }
  /// The place of the weights among the parameters, if `weight_norm` shall take them.
  [[nodiscard]] virtual weight_blocks weights() const { return {}; }
  /// The number of times that forward uses each parameter for a row: a convolution does for each pixel of its output.
  [[nodiscard]] virtual std::size_t pixels() const { return 1; }
  /// Appends the layers that it consists of: itself, unless it is a block of others.
  virtual void list_parts(std::vector<layer const*>& parts) const { parts.push_back(this); }
  /// Describes the function without its arithmetic, for a device.
  /// @throws precondition_error by default: such a layer computes on the host alone
  [[nodiscard]] virtual geometry::any geometry() const {
    expects(false, "layer: a device computes only layers that override geometry(); train this one on the host");
    return {};
  }

  /// Takes its parts of the three vectors, which outlive this layer.
  virtual void bind(std::span<T> /*parameters*/, std::span<T> /*gradients*/, std::span<T> /*statistics*/) {}
  /// Draws the first parameters: the same of the same numbers.
  virtual void initialise(random_sequence& /*random*/) {}
  /// Makes room for batches of so many rows; later calls do not allocate.
  virtual void reserve(std::size_t /*rows*/) {}
  /// Writes y, of x. Batches have at least one row.
  virtual void forward(pass<T> const& how, matrix_view<T const> const& x, matrix_view<T> y) = 0;
  /// Writes - does not add to - its gradients and, unless dx has no columns, the derivative by x.
  ///
  /// A layer for which the derivative by x is much work says `how.completed(gradients)` before: the gradients can be on
  /// their way meanwhile. Whatever it says, the sequence says after it.
  ///
  /// @param x,y what the forward before it, in training, saw and made
  /// @param dy the derivative of the loss by y, which it may overwrite
  virtual void backward(pass<T> const& how, matrix_view<T const> const& x, matrix_view<T> const& y, matrix_view<T> dy,
                        matrix_view<T> dx) = 0;

 protected:
  layer() = default;
  /// Copies as a part of a derived class, as the members below do.
  layer(layer const&) = default;
  /// Moves as a part of a derived class.
  layer(layer&&) noexcept = default;
  /// Copies the other's value.
  layer& operator=(layer const&) = default;
  /// Takes over the other's value, and releases that of before.
  layer& operator=(layer&&) noexcept = default;
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
