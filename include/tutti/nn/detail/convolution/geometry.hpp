// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/base/shape.hpp>
#include <tutti/nn/base/window.hpp>

#include <cstddef>

namespace tutti::inline v0_1_0::nn::detail::inline convolution {

/// The geometry of a convolution for its kernels. The weights are one matrix for each group: a row for each value
/// under the window - row by row, pixel by pixel, channel by channel -, a column for each output channel of the
/// group.
struct convolution_geometry {
  /// @pre the groups divide the channels of input and output
  constexpr convolution_geometry(image_shape const& image, nn::convolution const& options)
      : input(image),
        output(options.filter_window.output_shape(image, options.channels)),
        filter_window(options.filter_window),
        groups(options.groups) {
    expects(groups > 0 && options.channels > 0 && image.channels > 0 && image.channels % groups == 0 &&
                options.channels % groups == 0,
            "convolution: the number of groups must divide the channels of input and output; there are ", groups,
            " groups, ", image.channels, " channels of the input and ", options.channels, " of the output");
  }

  image_shape input;
  image_shape output;
  window filter_window;
  std::size_t groups;

  [[nodiscard]] constexpr std::size_t group_inputs() const noexcept { return input.channels / groups; }
  [[nodiscard]] constexpr std::size_t group_outputs() const noexcept { return output.channels / groups; }
  /// The number of rows of a group's matrix.
  [[nodiscard]] constexpr std::size_t fan_in() const noexcept {
    return filter_window.side * filter_window.side * group_inputs();
  }
  /// The number of weights of all groups.
  [[nodiscard]] constexpr std::size_t weights() const noexcept { return groups * fan_in() * group_outputs(); }
  [[nodiscard]] constexpr std::size_t pixels() const noexcept { return output.rows * output.columns; }
};

}  // namespace tutti::nn::detail::convolution
