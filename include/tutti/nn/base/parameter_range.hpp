// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstddef>

namespace tutti::inline v0_1_0::nn {

/// Where a layer's parameters lie in the vector of all parameters.
struct parameter_range {
  std::size_t offset = 0;  ///< where it begins among all parameters
  std::size_t size = 0;    ///< how many parameters it has
};

}  // namespace tutti::nn
