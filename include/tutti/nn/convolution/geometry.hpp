// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/expects.hpp>
#include <tutti/nn/shape.hpp>
#include <tutti/nn/window.hpp>

#include <cstddef>

namespace tutti::nn {

/// What a convolution is made of. With g groups, the channels of input and output are cut into g parts
/// of the same size, and each part of the output sees one part of the input.
struct convolution {
  std::size_t channels = 1;  ///< of the output
  window over = {};
  std::size_t groups = 1;
  bool bias = true;  ///< a normalisation that follows would take it out again
};

/// A convolution of images of a known shape, as its kernels see it. The weights are one matrix for
/// each group: a row for each number under the window - row by row, pixel by pixel, channel by
/// channel -, a column for each channel of the group's output.
struct convolution_geometry {
  /// @pre the groups divide the channels of input and output
  constexpr convolution_geometry(image_shape const& image, convolution const& what)
      : input(image), output(what.over.over(image, what.channels)), over(what.over), groups(what.groups) {
    expects(groups > 0 && what.channels > 0 && image.channels > 0 && image.channels % groups == 0 &&
                what.channels % groups == 0,
            "convolution: the groups divide the channels of input and output");
  }

  image_shape input;
  image_shape output;
  window over;
  std::size_t groups;

  [[nodiscard]] constexpr std::size_t group_inputs() const noexcept { return input.channels / groups; }
  [[nodiscard]] constexpr std::size_t group_outputs() const noexcept { return output.channels / groups; }
  /// Rows of a group's matrix.
  [[nodiscard]] constexpr std::size_t fan_in() const noexcept { return over.side * over.side * group_inputs(); }
  /// Numbers in all groups' matrices.
  [[nodiscard]] constexpr std::size_t weights() const noexcept { return groups * fan_in() * group_outputs(); }
  [[nodiscard]] constexpr std::size_t pixels() const noexcept { return output.rows * output.columns; }
};

}  // namespace tutti::nn
