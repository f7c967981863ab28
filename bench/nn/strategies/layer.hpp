// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace bench {

/// A layer with parameters, as a step of training sees it.
struct layer {
  std::size_t numbers;  ///< number of parameters, and so of gradients
  double products;      ///< multiplications of an image in forward; backward has twice as many
};

}  // namespace bench
