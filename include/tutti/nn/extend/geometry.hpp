// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/shape.hpp>
#include <tutti/nn/base/window.hpp>
#include <tutti/nn/extend/activation_kind.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

/// Descriptions of layers without their arithmetic. Each layer returns one from its member `geometry`, so that a
/// device can compute the same function of the same parameters, and a file can describe it (`saved_model/`).
namespace tutti::inline v0_1_0::nn::geometry {

/// y = activation(x W + b). Parameters: W, with a row of `outputs` values for each input, then b.
struct dense {
  std::size_t inputs = 0;                                  ///< length of a row of x
  std::size_t outputs = 0;                                 ///< length of a row of y
  activation_kind activation = activation_kind::identity;  ///< activation of each sum

  friend bool operator==(dense const&, dense const&) = default;
};

/// y = activation(x * W + b). Parameters: for each group a matrix with a row for each value under the window - row by
/// row, pixel by pixel, channel by channel of the group's input - and a column for each output channel of the group;
/// then optionally a bias for each output channel.
struct convolution {
  image_shape input;     ///< shape of an image of x
  image_shape output;    ///< shape of an image of y
  window filter_window;  ///< window that moves over an image of x
  /// Parts of equal size into which the channels of both sides are divided.
  std::size_t groups = 1;
  bool bias = true;                                        ///< true if there are biases
  activation_kind activation = activation_kind::identity;  ///< activation of each sum

  /// The number of values under the window, of one group: the rows of its matrix.
  [[nodiscard]] constexpr std::size_t fan_in() const noexcept {
    return filter_window.side * filter_window.side * (input.channels / groups);
  }
  /// The number of weights of all groups.
  [[nodiscard]] constexpr std::size_t weights() const noexcept { return fan_in() * output.channels; }
  friend bool operator==(convolution const&, convolution const&) = default;
};

/// The function that a pooling applies to the pixels under its window.
enum class pooling_kind { largest, mean };

/// y is the largest, or the mean, of the pixels under each position of a rectangle, channel by channel. Pixels beyond
/// the edge do not count. Among equal pixels the first is the largest; a NaN is larger than all else.
struct pooling {
  pooling_kind kind = pooling_kind::largest;  ///< largest or mean
  image_shape input;                          ///< shape of an image of x
  image_shape output;                         ///< shape of an image of y
  window vertical;                            ///< side and step of the rectangle along the rows
  window horizontal;                          ///< side and step of the rectangle along the columns

  friend bool operator==(pooling const&, pooling const&) = default;
};

/// y = activation(gamma (x - mean) / sqrt(variance + epsilon) + beta), channel by channel. Parameters: gamma, then
/// beta; statistics: the running mean, then the running variance.
struct batch_norm {
  image_shape image;                                       ///< shape of an image of x and of y
  activation_kind activation = activation_kind::identity;  ///< identity or relu
  float epsilon = 0;                                       ///< added to a variance before its root is taken
  float momentum = 0;                                      ///< weight of the newest batch in the running statistics

  friend bool operator==(batch_norm const&, batch_norm const&) = default;
};

/// In training y is x, times 0 or `scale`; otherwise y = x. Value c of row r is multiplied by 0 if draw c (from 0) of
/// random_sequence(random_sequence(key, step)(), first_row + r), shifted right by 32, is below `limit`.
struct dropout {
  std::size_t numbers = 0;  ///< length of a row
  std::uint32_t limit = 0;  ///< the probability, times 2^32
  float scale = 1;          ///< factor of the other values
  std::uint64_t key = 0;    ///< key of this layer; set by initialise
};

/// Transposes images: x has the channels one after another, y has the channels of a pixel beside each other.
struct channels_last {
  image_shape image;  ///< shape of an image of x and of y

  friend bool operator==(channels_last const&, channels_last const&) = default;
};

struct variant;

/// y = relu(body(x) + shortcut(x)). Parameters and statistics: those of the body, then those of the shortcut.
struct residual {
  std::vector<variant> body;      ///< layers one after another
  std::vector<variant> shortcut;  ///< layers one after another; empty: the shortcut is x itself
};

/// A layer whose weights w are g v / |v|, unit by unit. Parameters: v, the layer's other parameters, then g.
struct weight_norm {
  std::vector<variant> layer;        ///< exactly one layer
  std::size_t blocks = 0;            ///< matrices of v
  std::size_t length = 0;            ///< rows of each matrix
  std::size_t units = 0;             ///< columns of each matrix; a column is one v, and has one g
  std::size_t layer_parameters = 0;  ///< parameters of the layer: v and the others
};

/// The description of any layer.
struct variant {
  /// The kind of layer and its description.
  std::variant<dense, convolution, pooling, batch_norm, dropout, channels_last, residual, weight_norm> description;

  /// Calls f with the description.
  template <class F>
  decltype(auto) visit(F&& f) const {
    return std::visit(std::forward<F>(f), description);
  }
};

}  // namespace tutti::nn::geometry
