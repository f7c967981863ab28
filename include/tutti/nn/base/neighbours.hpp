// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

namespace tutti::inline v0_1_0::nn {

/// The pairs of ranks that exchange weights.
enum class neighbours {
  ring,  ///< the previous and the next rank: two messages a step, always with the same two ranks
  /// at step k a send to the rank 2^(k mod log n) ahead, a receive from the one as far behind: one message a step
  exponential
};

}  // namespace tutti::nn
