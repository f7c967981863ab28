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

/// What layers are, without their arithmetic: each tells it by its member `geometry`, so that something else than the
/// layer itself, such as a device, can compute the same function of the same parameters.
namespace tutti::inline v0_1_0::nn::geometry {

/// y = activation(x W + b). Parameters: W, a row of `outputs` numbers for each input, then b.
struct dense {
  std::size_t inputs = 0;                                  ///< numbers of a row of x
  std::size_t outputs = 0;                                 ///< numbers of a row of y
  activation_kind activation = activation_kind::identity;  ///< of each sum

  friend bool operator==(dense const&, dense const&) = default;
};

/// y = activation(x * W + b). Parameters: for each group a matrix, which has a row for each number under the window -
/// row by row, pixel by pixel, channel by channel of the group's part of the input - and a column for each channel of
/// the group's part of the output; then, if there is one, a bias for each channel of the output.
struct convolution {
  image_shape input;                                       ///< an image of x
  image_shape output;                                      ///< an image of y
  window over;                                             ///< what moves over an image of x
  std::size_t groups = 1;                                  ///< parts of equal size of both sides' channels
  bool bias = true;                                        ///< whether there are biases
  activation_kind activation = activation_kind::identity;  ///< of each sum

  /// Numbers under the window, of one group: the rows of its matrix.
  [[nodiscard]] constexpr std::size_t fan_in() const noexcept {
    return over.side * over.side * (input.channels / groups);
  }
  /// Numbers of all groups' matrices.
  [[nodiscard]] constexpr std::size_t weights() const noexcept { return fan_in() * output.channels; }
  friend bool operator==(convolution const&, convolution const&) = default;
};

/// What a pooling makes of the pixels under its window.
enum class pooling_kind { largest, mean };

/// y is the largest, or the mean, of the pixels under each place of a rectangle, channel by channel. Pixels beyond the
/// edge do not count. Of equal ones the first is the largest; a NaN is larger than all else.
struct pooling {
  pooling_kind kind = pooling_kind::largest;  ///< which
  image_shape input;                          ///< an image of x
  image_shape output;                         ///< an image of y
  window down;                                ///< the rectangle, as it moves along the rows
  window across;                              ///< and along the columns

  friend bool operator==(pooling const&, pooling const&) = default;
};

/// y = activation(gamma (x - mean) / sqrt(variance + epsilon) + beta), channel by channel. Parameters: gamma, then
/// beta; statistics: the running mean, then the running variance.
struct batch_norm {
  image_shape image;                                       ///< of x and of y
  activation_kind activation = activation_kind::identity;  ///< identity or relu
  float epsilon = 0;                                       ///< added to a variance before its root is taken
  float momentum = 0;                                      ///< share of the newest batch in the running statistics

  friend bool operator==(batch_norm const&, batch_norm const&) = default;
};

/// In training y = x, times 0 or `kept`. Number c of row r is multiplied by 0 if draw c (from 0 on) of
/// random_sequence(random_sequence(key, step)(), first_row + r), shifted right by 32, is below `limit`. Otherwise y =
/// x.
struct dropout {
  std::size_t numbers = 0;  ///< of a row
  std::uint32_t limit = 0;  ///< the probability, times 2^32
  float kept = 1;           ///< by what the others are multiplied
  std::uint64_t key = 0;    ///< the layer's own; known once it has been initialised
};

/// y has the pixels of x, whose channels lie one after another, with the channels of a pixel beside each other.
struct channels_last {
  image_shape image;  ///< of x and of y

  friend bool operator==(channels_last const&, channels_last const&) = default;
};

struct any;

/// y = relu(body(x) + shortcut(x)). Parameters and statistics: those of the body, then those of the shortcut.
struct residual {
  std::vector<any> body;      ///< layers one after another
  std::vector<any> shortcut;  ///< the same; without any it is x itself
};

/// A layer whose weights w are g v / |v|, unit by unit. Parameters: v, what else the layer learns, then g.
struct weight_norm {
  std::vector<any> layer;   ///< one
  std::size_t blocks = 0;   ///< matrices of v
  std::size_t length = 0;   ///< rows of each
  std::size_t units = 0;    ///< columns of each: a column is a v, and has a g
  std::size_t learned = 0;  ///< parameters of the layer: v and what else there is
};

/// Any of these.
struct any {
  /// Which one.
  std::variant<dense, convolution, pooling, batch_norm, dropout, channels_last, residual, weight_norm> one;

  /// Calls f with it.
  template <class F>
  decltype(auto) visit(F&& f) const {
    return std::visit(std::forward<F>(f), one);
  }
};

}  // namespace tutti::nn::geometry
