// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstddef>

namespace tutti::inline v0_1_0::nn {

/// The range of a layer's parameters in the vector of all parameters.
struct parameter_range {
  std::size_t offset = 0;  ///< index of the first one
  std::size_t size = 0;    ///< number of parameters
  /// The number of its last parameters that weight decay leaves alone, such as biases.
  std::size_t decay_exemptions = 0;
};

}  // namespace tutti::nn
