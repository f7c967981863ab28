// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace bench {

/// to = a + b, as the compiler vectorises it.
/// @pre `to` is `a` or apart from it, and apart from `b`
inline void add(float* to, float const* a, float const* b, std::size_t n) noexcept {
  if (to == a) {
    [n](float* __restrict sum, float const* __restrict more) {
      for (std::size_t i = 0; i < n; ++i) {
        sum[i] += more[i];
      }
    }(to, b);
  } else {
    [n](float* __restrict sum, float const* __restrict one, float const* __restrict other) {
      for (std::size_t i = 0; i < n; ++i) {
        sum[i] = one[i] + other[i];
      }
    }(to, a, b);
  }
}

}  // namespace bench
