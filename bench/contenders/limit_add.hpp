// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace bench {

/// result = a + b, as the compiler vectorises it.
/// @pre `result` is `a` or disjoint from it, and disjoint from `b`
inline void add(float* result, float const* a, float const* b, std::size_t n) noexcept {
  if (result == a) {
    [n](float* __restrict sum, float const* __restrict more) {
      for (std::size_t i = 0; i < n; ++i) {
        sum[i] += more[i];
      }
    }(result, b);
  } else {
    [n](float* __restrict sum, float const* __restrict first, float const* __restrict second) {
      for (std::size_t i = 0; i < n; ++i) {
        sum[i] = first[i] + second[i];
      }
    }(result, a, b);
  }
}

}  // namespace bench
