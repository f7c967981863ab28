// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/language.hpp>

namespace tutti::nn {

/// How long a rank takes for what it computes, where that is not what its machine takes.
struct pace {
  double factor = 1;  ///< times as long, asleep for the rest: as on a slower machine; at least 1
};

}  // namespace tutti::nn
