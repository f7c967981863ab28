// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

namespace tutti::inline v0_1_0::nn {

/// The pairs of ranks that exchange weights.
enum class neighbours {
  ring,        ///< with the rank before and the one after: two messages, to the same two ranks always
  exponential  ///< at step k to the rank 2^(k mod log n) ahead, from the one as far behind: one message a step
};

}  // namespace tutti::nn
