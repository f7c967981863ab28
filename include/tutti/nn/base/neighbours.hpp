// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

namespace tutti::inline v0_1_0::nn {

/// The pairs of ranks that exchange weights.
enum class neighbours {
  ring,  ///< the previous and the next rank: two messages a step, always with the same two ranks
  /// One message a step: at step k to the rank 2^(k mod log n) ahead, and one from the rank as far behind.
  exponential
};

}  // namespace tutti::nn
