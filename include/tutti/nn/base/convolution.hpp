// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/window.hpp>

#include <cstddef>

namespace tutti::inline v0_1_0::nn {

/// What a convolution is made of. With g groups, the channels of input and output are cut into g parts
/// of the same size, and each part of the output sees one part of the input.
struct convolution {
  std::size_t channels = 1;  ///< of the output
  window over = {};          ///< the window that moves over the image
  std::size_t groups = 1;    ///< how many parts the channels are divided into, each with its own filters
  bool bias = true;          ///< a normalisation that follows would take it out again
};

}  // namespace tutti::nn
