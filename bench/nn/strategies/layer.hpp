// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace bench {

/// A layer that learns, as a step of training sees it.
struct layer {
  std::size_t numbers;  ///< parameters, and so numbers of its gradient
  double products;      ///< multiplications that an image takes in forward; backward has twice as many
};

}  // namespace bench
