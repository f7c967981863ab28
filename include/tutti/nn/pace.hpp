// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/language.hpp>

namespace tutti::nn {

/// How long a rank takes for what it computes, where that is not what its machine takes.
struct pace {
  double factor = 1;  ///< times as long, asleep for the rest: as on a slower machine; at least 1
  /// Of the gradient of an image, which is then not computed but zeros; there is no test. 0: all is computed.
  double pretended_seconds = 0;

  /// Whether gradients are not computed.
  [[nodiscard]] constexpr bool pretends() const noexcept { return pretended_seconds > 0; }
};

}  // namespace tutti::nn
